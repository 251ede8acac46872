"""Contrastive pre-training of a small encoder on synthetic sensor traces.

Two random views of each trace must agree; traces seen in earlier steps, kept in a queue, are the negatives.
Run `python script.py --steps 2`. Everything that is compiled is in `network.py`.
"""

from __future__ import annotations

import argparse
import logging
import math
import random
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from network import Contrast, Encoder
from objective import accuracy, info_nce, uniformity
from traces import TraceDataset, collate_views

log = logging.getLogger("contrast")


@dataclass
class Settings:
    steps: int = 2
    batch: int = 8
    length: int = 48
    width: int = 16
    queue: int = 4
    temperature: float = 0.2
    momentum: float = 0.95
    lr: float = 2e-3
    warmup: int = 2
    clip: float = 1.0
    seed: int = 17


class Meter:
    """Running mean of a few named numbers, for the log line at the end of a step."""

    def __init__(self) -> None:
        self.totals: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    def add(self, **values: float) -> None:
        for name, value in values.items():
            self.totals[name] = self.totals.get(name, 0.0) + float(value)
            self.counts[name] = self.counts.get(name, 0) + 1

    def __str__(self) -> str:
        return " ".join(f"{name} {self.totals[name] / self.counts[name]:.3f}" for name in sorted(self.totals))


class Warmup(torch.optim.lr_scheduler.LambdaLR):
    """Linear to the full rate, then half a cosine down to a tenth of it."""

    def __init__(self, optimizer: torch.optim.Optimizer, warmup: int, steps: int) -> None:
        self.warmup, self.steps = warmup, max(steps, warmup + 1)
        super().__init__(optimizer, self.factor)

    def factor(self, step: int) -> float:
        if step < self.warmup:
            return (step + 1) / self.warmup
        done = (step - self.warmup) / (self.steps - self.warmup)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * min(done, 1.0)))


def parameter_groups(model: torch.nn.Module, decay: float) -> list[dict]:
    """Matrices decay, vectors do not."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    vectors = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def parse_settings() -> Settings:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in asdict(Settings()).items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return Settings(**vars(parser.parse_args()))


def seed_everything(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)


def save(path: Path, model: torch.nn.Module, settings: Settings, step: int) -> None:
    torch.save({"model": model.state_dict(), "settings": asdict(settings), "step": step}, path)
    log.info("checkpoint %s (%d bytes)", path.name, path.stat().st_size)


def train_step(model: Contrast, batch: tuple, optimizer: torch.optim.Optimizer, settings: Settings) -> dict[str, float]:
    first, second, _ = batch
    query, key, negatives = model(first, second)
    logits, loss = info_nce(query, key, negatives, settings.temperature)
    loss = loss + 0.1 * uniformity(query)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
    optimizer.step()
    return {"loss": loss.item(), "grad": norm.item(), "top1": accuracy(logits)}


def main() -> None:
    settings = parse_settings()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    seed_everything(settings.seed)

    dataset = TraceDataset(count=settings.batch * settings.steps, length=settings.length, seed=settings.seed)
    loader = DataLoader(dataset, batch_size=settings.batch, shuffle=True, collate_fn=collate_views)
    model = Contrast(
        Encoder(settings.length, settings.width), slots=settings.queue, batch=settings.batch, momentum=settings.momentum
    )
    compiled = torch.compile(model, fullgraph=True)
    optimizer = torch.optim.AdamW(parameter_groups(model, 0.05), lr=settings.lr)
    schedule = Warmup(optimizer, settings.warmup, settings.steps)
    log.info("%d parameters, %d traces", sum(p.numel() for p in model.parameters()), len(dataset))

    meter = Meter()
    with tempfile.TemporaryDirectory() as folder:
        for step, batch in enumerate(loader):
            begin = time.perf_counter()
            meter.add(**train_step(compiled, batch, optimizer, settings))
            schedule.step()
            model.update_target()
            log.info("step %d %s (%.2f s)", step, meter, time.perf_counter() - begin)
        save(Path(folder) / "last.pt", model, settings, settings.steps)


if __name__ == "__main__":
    main()
