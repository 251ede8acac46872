"""Programs for sweeps over scripts of mixed fate: all of them quick."""

PASSES = "import torch\nprint(torch.compile(torch.sin, backend='eager')(torch.ones(3)))\n"
LERP = """import torch
mix = torch.compile(lambda a, b: torch.lerp(a, b, {weight}))
mix(*torch.randn(2, {rows}, 3, dtype=torch.complex64))
"""
MISSING = "import torch\nopen('data.bin')\n"
FLAKY = """import os
import torch

with open("runs", "a") as file:
    file.write("x")
runs = os.path.getsize("runs")


def chip(graph, inputs):
    if runs > 2 and runs % 2:
        raise RuntimeError("the chip does not answer")
    return graph.forward


print(torch.compile(torch.sin, backend=chip)(torch.ones(3)))
"""
