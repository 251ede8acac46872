"""A program to be changed, and its changes."""

from pathlib import Path

from triage.culprit.settings import Setting
from triage.culprit.ways_round.calls import respelled_calls
from triage.culprit.ways_round.changes import Program
from triage.culprit.ways_round.source import Source
from triage.culprit.ways_round.spellings import UNCOMPILED, Spelling

FILE = Path("/program/train.py")

TRAIN = '''"""A program."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def loss(self, x):
        y = torch.cumsum(x, 0)  # a running sum
        z = (x * 2).relu().cumsum(dim=0)
        w = self.head(x // y)
        return F.interpolate(
            w, scale_factor=2,
        ) + z


@torch.compile(fullgraph=True)
def step(net, x):
    return net.loss(x)
'''


def source(text: str) -> Source:
    found = Source.read(text.encode())
    assert found is not None
    return found


def program(text: str = TRAIN, *, line: int = 18, one_graph: bool = False) -> Program:
    known = source(text)
    return Program(lambda path: known if path == FILE else None, FILE, {FILE: (line,)}, one_graph)


def with_call(line: int, *names: str, text: str = TRAIN, spelling: Spelling = UNCOMPILED) -> str:
    known = source(text)
    call = next(respelled_calls(known, line, names, spelling))
    changed = known.changed(call.edits)
    return changed.text


def lines_changed(before: str, after: str) -> list[str]:
    kept = before.splitlines()
    return [line for line in after.splitlines() if line.strip() and line not in kept]


def config(name: str, value: object) -> Setting:
    return Setting("config", name, value, f"{name} = {value!r}", 2)
