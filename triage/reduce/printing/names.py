"""Short readable names for values, as a person would choose them; the same case always gets the same names."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator

from triage.model.graphcase import GraphInput
from triage.reduce.printing.fills import INTEGERS

ABBREVIATIONS = {
    "weight": "w", "bias": "b", "running_mean": "mean", "running_var": "var", "num_batches_tracked": "n", "input": "x",
    "inputs": "x", "hidden_states": "h", "input_ids": "ids", "attention_mask": "mask",
}  # fmt: skip
# Names that scripts use for other things; a builtin must stay what it is.
RESERVED = frozenset(dir(builtins)) | {
    "f", "fn", "F", "os", "torch", "math", "operator", "args", "inputs", "compiled", "run", "step", "same", "eager", "dtype",
    "checkpoint", "ctx", "scan", "while_loop", "flex_attention", "create_block_mask", "block_mask", "expected", "actual",
    "out", "results", "grad", "grads", "dist",
}  # fmt: skip
LONGEST = 8  # a user's own name is kept up to this length
_VALUES = ["a", "b", "c", "d", "e", "g", "h", "k", "m", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"]


class Names:
    """Hands out names that are not taken; `reserve` takes one without giving it."""

    def __init__(self, taken: set[str] | None = None) -> None:
        self.taken = set(taken or ()) | RESERVED
        self._letters: Iterator[str] = iter(_VALUES)
        self._count = 0

    def reserve(self, name: str) -> str:
        self.taken.add(name)
        return name

    def like(self, wanted: str) -> str:
        """`wanted`, or `wanted1`, `wanted2` where it is taken."""
        name, count = wanted, 0
        while name in self.taken or keyword.iskeyword(name):
            count += 1
            name = f"{wanted}{count}"
        return self.reserve(name)

    def value(self) -> str:
        """The next free letter, then t1, t2, ..."""
        for name in self._letters:
            if name not in self.taken:
                return self.reserve(name)
        self._count += 1
        return self.like(f"t{self._count}")


def input_name(item: GraphInput, names: Names) -> str:
    """What the script calls it, where that is short; else by its kind."""
    own = _own_name(item)
    if own is not None:
        return names.like(own)
    for name in _by_kind(item):
        if name not in names.taken:
            return names.reserve(name)
    return names.like(_by_kind(item)[0])


def _own_name(item: GraphInput) -> str | None:
    parts = re.findall(r"\['(\w+)'\]|\.(\w+)", item.source)
    if not parts or not re.search(r"(\['\w+'\]|\.\w+)$", item.source):
        return None
    name = parts[-1][0] or parts[-1][1]
    name = ABBREVIATIONS.get(name, name).lower()
    plain = name.isidentifier() and not name.isdigit() and not name.startswith("_")
    return name if plain and len(name) <= LONGEST and name not in RESERVED | {"self"} else None


def _by_kind(item: GraphInput) -> tuple[str, ...]:
    if item.kind in ("int", "bool"):
        return ("n", "m", "k")
    if item.kind == "float":
        return ("s", "alpha")
    if item.role == "parameter":
        return ("w", "b")
    if item.role == "constant":
        return ("c",)
    if item.name.startswith("tangents") or item.role == "gradient":
        return ("g",)
    dtype = item.meta.dtype if item.meta is not None else ""
    if dtype in INTEGERS:
        return ("i", "j")
    if dtype == "bool":
        return ("mask",)
    return ("x", "y", "z", "w", "u", "v")


def parameter_name(name: str, hint: str, names: Names) -> str:
    """The name of a nested function's parameter: what the caller calls it, or the user's own short name, or x, y, z."""
    if hint:
        return names.like(hint)
    own = re.sub(r"_\d*$", "", re.sub(r"^[lLgG]_", "", name)).strip("_")
    if own.isidentifier() and len(own) <= LONGEST and own != "child" and not re.fullmatch(r"[su]\d+|arg\w*", own):
        return names.like(own.lower())
    free = (letter for letter in ("x", "y", "z", "u", "v", "w") if letter not in names.taken)
    return names.like(next(free, "x"))
