"""A function of an installed package run uncompiled, by a line in the program: nobody edits what was installed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from triage.culprit.ways_round.functions import DECORATOR
from triage.culprit.ways_round.source import Source, functions_around
from triage.model.places import PACKAGES, in_packages

_NO_PLAIN_METHOD = {
    "staticmethod",
    "classmethod",
    "property",
}  # what stands in the class is not what `Class.name` gives


@dataclass(frozen=True)
class Uncompiled:
    """`name` is `GPT2MLP.forward`, `module` the dotted one that has it, `lines` what leaves it uncompiled from then on."""

    name: str
    module: str
    lines: tuple[str, ...]


def folders_of_packages(python: str) -> tuple[Path, ...]:
    """Where packages are installed for this interpreter."""
    prefix = Path(python).absolute().parent.parent  # of an environment its own: its python is a link to another one
    return tuple(path for name in PACKAGES for path in sorted(prefix.glob(f"lib*/python3*/{name}")))


def uncompiled_in_library(path: Path, source: Source, line: int) -> Iterator[Uncompiled]:
    """The functions that a line of a package stands in and that are found by their names from its module, the innermost first."""
    module = ".".join(Path(in_packages(str(path)) or "").with_suffix("").parts).removesuffix(".__init__")
    for function in functions_around(source, line):
        *around, _ = source.above(function)  # without the module
        names = [*(each.name for each in reversed(around) if isinstance(each, ast.ClassDef)), function.name]
        decorators = {source.source(each) for each in function.decorator_list}
        if len(names) <= len(around) or not module or decorators & _NO_PLAIN_METHOD:
            continue  # one within another function is made anew each time
        *parents, last = module.split(".")
        holder = names[0] if len(names) > 1 else last
        place = f"from {module} import {names[0]}" if len(names) > 1 else _import_of(parents, last)
        full = ".".join([holder, *names[1:]] if len(names) > 1 else [holder, names[0]])
        yield Uncompiled(".".join(names), module, (place, "", f"{full} = {DECORATOR}({full})"))


def _import_of(parents: list[str], last: str) -> str:
    return f"from {'.'.join(parents)} import {last}" if parents else f"import {last}"
