"""The arguments of torch.compile that a reproducer is run with, as one table. A row that passes is a workaround."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from triage.culprit.settings import SLOWEST, Setting
from triage.model.rungs import BACKENDS, knows_modes

INDUCTORS = ("mode", "options")  # these say something to Inductor only, and torch takes one of them at a time


@dataclass(frozen=True)
class Argument:
    """One row. `text` is how it is written; `value` None takes the argument out, which leaves torch its default.

    `cost` orders workarounds: what a program loses by it, 0 for the least. `repeated`: tried also where the script has it.
    """

    text: str
    name: str
    value: Any
    cost: int
    repeated: bool = True

    @property
    def change(self) -> Setting:
        """The same for machines."""
        return Setting("argument", self.name, self.value, f"torch.compile(..., {self.text})", self.cost)


# In the order of the report's table.
ARGUMENTS = (
    Argument('mode="default"', "mode", None, 2),
    Argument('mode="reduce-overhead"', "mode", "reduce-overhead", 2),
    Argument('mode="max-autotune"', "mode", "max-autotune", 2),
    Argument("dynamic=None", "dynamic", None, 0),
    Argument("dynamic=True", "dynamic", True, 0),
    Argument("dynamic=False", "dynamic", False, 0),
    Argument("fullgraph=True", "fullgraph", True, 1, repeated=False),
    Argument("fullgraph=False", "fullgraph", False, 1, repeated=False),
)


def arguments_for(failing: str, *, fullgraph: bool) -> Iterator[Argument]:
    """The rows that say something to the failing backend, for a script that asks for one graph or does not."""
    for row in ARGUMENTS:
        own = row.name == "fullgraph" and row.value is fullgraph
        if (knows_modes(failing) or row.name not in INDUCTORS) and (row.repeated or not own):
            yield row


def cost_of_backend(backend: str) -> int:
    """More than that of any argument; the more of the compiler a backend leaves out, the slower the program."""
    return max(SLOWEST, *(row.cost for row in ARGUMENTS)) + len(BACKENDS) - BACKENDS.index(backend)
