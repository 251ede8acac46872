"""Cases to print, and what is printed of them."""

from __future__ import annotations

import itertools
import textwrap
from typing import Any

from printer_cases import case, node

from triage.model.graphcase import GraphCase, GraphInput
from triage.reduce.printing.printer import Form, print_case

COMPILED = 'torch.compile(f, backend=os.environ.get("TORCH_COMPILE_BACKEND", "inductor"))'


def script(text: str) -> str:
    return textwrap.dedent(text).replace("COMPILED", COMPILED).lstrip("\n")


def made(item: GraphInput, *, changed: bool = False, **rest: Any) -> str:
    """How the printed script makes an input."""
    last = item.meta
    change = [node("m", ".mul_", f"%{item.name}", 2, out=last)] if changed else []
    text = print_case(case([item], [*change, node("y", "torch.relu", f"%{item.name}", out=last)], "%y", **rest))
    return next(line for line in text.splitlines() if line.startswith(f"{item.name} = ")).partition(" = ")[2]


def body(one: GraphCase, form: Form | None = None) -> list[str]:
    """The lines of the function."""
    lines = print_case(one, form=form).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("def f("))
    return list(itertools.takewhile(bool, lines[start:]))
