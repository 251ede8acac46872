"""Cleans dropouts out of a signal. Works in the time domain; `--domain frequency` is what fails."""

import argparse

import torch

import cleaning

parser = argparse.ArgumentParser()
parser.add_argument("--domain", choices=sorted(cleaning.FILTERS), default="time")
parser.add_argument("--samples", type=int, default=64)
parser.add_argument("--gain", type=float, default=1.0)
args = parser.parse_args()

torch.manual_seed(0)
signal = torch.sin(torch.linspace(0, 12, args.samples))
signal[torch.randperm(args.samples)[:5]] = float("nan")
clean = torch.compile(cleaning.FILTERS[args.domain])
print(args.domain, clean(signal, args.gain).abs().max().item())
