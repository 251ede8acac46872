"""Trains a small segmentation network on images of changing size, as multi-scale training does.

The first size compiles; the second one makes the sizes symbolic, and one operator of the auxiliary
loss cannot be lowered then. Nothing here fails without torch.compile.
"""

import argparse
import logging
import random
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("train")


class Discs(Dataset):
    """Bright discs on noise; the label says which pixels belong to the disc."""

    def __init__(self, count: int, size: int, seed: int) -> None:
        self.size = size
        rng = random.Random(seed)
        self.discs = [(rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.7), rng.uniform(0.1, 0.3)) for _ in range(count)]

    def __len__(self) -> int:
        return len(self.discs)

    def __getitem__(self, index: int):
        x, y, radius = self.discs[index]
        axis = torch.linspace(0, 1, self.size)
        inside = (axis[:, None] - y) ** 2 + (axis[None, :] - x) ** 2 < radius**2
        noise = torch.randn(self.size, self.size, generator=torch.Generator().manual_seed(index))
        return (inside.float() + 0.3 * noise)[None], inside.float()[None]


class Block(nn.Module):
    def __init__(self, cin: int, cout: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.conv(x))


class Segmenter(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.stem = Block(1, width)
        self.context = Block(width, width)
        self.head = nn.Conv2d(2 * width, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        fine = self.stem(x)
        coarse = F.interpolate(self.context(F.avg_pool2d(fine, 2)), scale_factor=2.0, mode="nearest")
        return self.head(torch.cat([fine, coarse], dim=1))


class Objective(nn.Module):
    """Cross-entropy at full size plus the same on a smaller, area-averaged copy."""

    def __init__(self, model: nn.Module, shrink: float) -> None:
        super().__init__()
        self.model, self.shrink = model, shrink

    def forward(self, image: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        logits = self.model(image)
        small = F.interpolate(torch.sigmoid(logits), scale_factor=self.shrink, mode="area")
        goal = F.interpolate(target, scale_factor=self.shrink, mode="area")
        return F.binary_cross_entropy_with_logits(logits, target) + (small - goal).square().mean()


def save(model: nn.Module, path: Path) -> None:
    torch.save({"model": model.state_dict()}, path)
    log.info("wrote %s", path.name)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 20])
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--width", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--shrink", type=float, default=0.6)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    torch.manual_seed(args.seed)
    model = Segmenter(args.width)
    objective = torch.compile(Objective(model, args.shrink))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    with tempfile.TemporaryDirectory() as folder:
        for epoch, size in enumerate(args.sizes):
            loader = DataLoader(Discs(4, size, args.seed), batch_size=args.batch_size)
            for image, target in loader:
                loss = objective(image, target)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            log.info("epoch %d size %d loss %.4f", epoch, size, loss.item())
            save(model, Path(folder) / f"epoch{epoch}.pt")


if __name__ == "__main__":
    main()
