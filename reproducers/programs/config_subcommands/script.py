"""A trainer with subcommands and a configuration in a file beside it: script.py fit --config config.txt"""

import argparse
import configparser
import logging
from pathlib import Path

import torch
from torch import nn

log = logging.getLogger("trainer")


class Pool(nn.Module):
    """Pools to sizes that the configuration names."""

    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes

    def forward(self, x):
        return torch.cat([nn.functional.adaptive_avg_pool1d(x, size).flatten(1) for size in self.sizes], dim=1)


def spectral_gap(x):
    density = torch.fft.fft(x.mean(0))
    return torch.nan_to_num(density / density.abs().clamp(min=1e-9)).real.sum()


def build(section):
    width = section.getint("width")
    sizes = [int(word) for word in section["pool"].split(",")]
    return nn.Sequential(nn.Conv1d(1, width, 3, padding=1), nn.SiLU(), Pool(sizes), nn.Linear(width * sum(sizes), 1))


def fit(arguments, section):
    torch.manual_seed(section.getint("seed"))
    model = build(section)
    optimizer = torch.optim.AdamW(model.parameters(), lr=section.getfloat("rate"))

    @torch.compile
    def loss_of(x, y):
        out = model(x)
        return nn.functional.mse_loss(out, y) + 1e-3 * spectral_gap(out.detach())

    for number in range(section.getint("steps")):
        x = torch.randn(4, 1, 16)
        loss = loss_of(x, x.mean(dim=(1, 2))[:, None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d: %.4f", number, float(loss))


def describe(arguments, section):
    print(build(section))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("config.ini"))
    commands = parser.add_subparsers(dest="command", required=True)
    for name, run in (("fit", fit), ("describe", describe)):
        commands.add_parser(name).set_defaults(run=run)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    config = configparser.ConfigParser()
    config.read(arguments.config)
    arguments.run(arguments, config["model"])


if __name__ == "__main__":
    main()
