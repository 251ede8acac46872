"""Programs for sweeps over scripts of mixed fate: all of them quick."""

PASSES = "import torch\nprint(torch.compile(torch.sin, backend='eager')(torch.ones(3)))\n"
LERP = """import torch
mix = torch.compile(lambda a, b: torch.lerp(a, b, {weight}))
mix(*torch.randn(2, {rows}, 3, dtype=torch.complex64))
"""
MISSING = "import torch\nopen('data.bin')\n"
