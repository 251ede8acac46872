"""The arguments of torch.compile that a reproducer is run with, as one table. A row that passes is a workaround."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from triage.culprit.settings import SLOWEST, Setting
from triage.model.rungs import BACKENDS, INDUCTORS, knows_modes


@dataclass(frozen=True)
class Argument:
    """One row. `text` is how it is written; `value` None takes the argument out, which leaves torch its default.

    `cost` orders workarounds: what a program loses by it, 0 for the least. `repeated`: tried also where the script has it.
    `kind` is that of its `change`, and `written` what a person writes. `holds` are the rows that it does as well: where one
    of them passes, nothing is known of the rest of it.
    """

    text: str
    name: str
    value: Any
    cost: int
    repeated: bool = True
    kind: str = field(default="argument", kw_only=True)
    written: str = field(default="", kw_only=True)
    holds: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def change(self) -> Setting:
        """The same for machines."""
        text = self.written or f"torch.compile(..., {self.text})"
        return Setting(self.kind, self.name, self.value, text, self.cost)


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
WITHOUT_OPTION = "without the option "  # in a row's text, and the name behind it
WITHOUT_OPTIONS = Argument("without options", "options", None, 2, written="`torch.compile(...)` without `options`")


def arguments_for(failing: str, *, fullgraph: bool, options: Sequence[str] | None) -> Iterator[Argument]:
    """The rows that say something to the failing backend, for a script that asks for one graph or does not.

    `options` are the names of those that it gives, None where it gives none. Torch takes no mode beside them, so each is
    taken out alone before all of them go: a mode that passes then may pass only for want of one.
    """
    modes = knows_modes(failing)
    alone = [_without(name) for name in options or ()] if modes else []
    whole = [WITHOUT_OPTIONS] if modes and options is not None and len(options) != 1 else []
    yield from alone
    yield from (replace(row, holds=tuple(each.text for each in alone)) for row in whole)
    for row in ARGUMENTS:
        own = row.name == "fullgraph" and row.value is fullgraph
        if (not modes and row.name in INDUCTORS) or (own and not row.repeated):
            continue
        if options is None or row.name not in INDUCTORS:
            yield row
        elif row.value is not None:  # the default is what is left where they go
            yield replace(
                row,
                text=f"{row.text} in place of options",
                written=f"`torch.compile(..., {row.text})` in place of `options`",
                holds=tuple(each.text for each in (*alone, *whole)),
            )


def _without(option: str) -> Argument:
    words = f"{WITHOUT_OPTION}{option}"
    written = f"`torch.compile(...)` without the option `{option}`"
    return Argument(words, option, None, 1, kind="option", written=written)


def cost_of_backend(backend: str) -> int:
    """More than that of any argument; the more of the compiler a backend leaves out, the slower the program."""
    return max(SLOWEST, *(row.cost for row in ARGUMENTS)) + len(BACKENDS) - BACKENDS.index(backend)
