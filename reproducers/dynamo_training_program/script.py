"""Train a small transformer that tells the language of a name. Usage: script.py --config small.json --epochs 1"""

import argparse
import logging
import math
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from wikinames import Classifier, ModelConfig, Names, batches
from wikinames.data import Vocabulary

log = logging.getLogger("train")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=None, help="a JSON file with the sizes of the model")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--names", type=int, default=64)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


class Average:
    """A running mean, for the log."""

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def add(self, value: float, weight: int = 1) -> None:
        self.total += value * weight
        self.count += weight

    @property
    def value(self) -> float:
        return self.total / max(1, self.count)


class Checkpoints:
    """Keeps the best model in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.best = math.inf

    def offer(self, model: torch.nn.Module, loss: float) -> bool:
        if loss >= self.best:
            return False
        self.best = loss
        torch.save(model.state_dict(), self.directory / "best.pt")
        log.info("saved a checkpoint at loss %.4f", loss)
        return True


def schedule(step: int, warmup: int, total: int) -> float:
    if step < warmup:
        return (step + 1) / warmup
    progress = (step - warmup) / max(1, total - warmup)
    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))


def evaluate(model: torch.nn.Module, names: Names, size: int) -> tuple[float, float]:
    loss, accuracy = Average(), Average()
    model.eval()
    with torch.no_grad():
        for letters, labels in batches(names, size, shuffle=False):
            logits = model(letters)
            loss.add(F.cross_entropy(logits, labels).item(), len(labels))
            accuracy.add((logits.argmax(-1) == labels).float().mean().item(), len(labels))
    model.train()
    return loss.value, accuracy.value


def train(arguments: argparse.Namespace, directory: Path) -> float:
    torch.manual_seed(arguments.seed)
    config = ModelConfig.load(arguments.config) if arguments.config else ModelConfig()
    config.save(directory / "config.json")
    vocabulary = Vocabulary(config.vocabulary)
    training = Names(vocabulary, arguments.names, config.length, seed=arguments.seed)
    held_out = Names(vocabulary, arguments.names // 2, config.length, seed=arguments.seed + 1)

    model = Classifier(config, len(vocabulary))
    log.info("%d parameters", sum(p.numel() for p in model.parameters()))
    compiled = torch.compile(model, fullgraph=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.rate)
    total = arguments.epochs * (arguments.names // arguments.batch)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: schedule(step, arguments.warmup, total))
    checkpoints = Checkpoints(directory)

    loss_before, _ = evaluate(model, held_out, arguments.batch)
    log.info("before training: loss %.4f", loss_before)
    for epoch in range(arguments.epochs):
        began, running = time.perf_counter(), Average()
        for letters, labels in batches(training, arguments.batch):
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(compiled(letters), labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), arguments.clip)
            optimizer.step()
            scheduler.step()
            running.add(loss.item(), len(labels))
        held, accuracy = evaluate(model, held_out, arguments.batch)
        checkpoints.offer(model, held)
        seconds = time.perf_counter() - began
        log.info("epoch %d: %.4f, held out %.4f, %.0f %% right, %.1f s", epoch, running.value, held, 100 * accuracy, seconds)
    return checkpoints.best


def main() -> None:
    arguments = parse_arguments()
    logging.basicConfig(level=logging.DEBUG if arguments.verbose else logging.INFO, format="%(name)s: %(message)s")
    with tempfile.TemporaryDirectory() as directory:
        best = train(arguments, Path(directory))
    print(f"best held-out loss {best:.4f}")


if __name__ == "__main__":
    main()
