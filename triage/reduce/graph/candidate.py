"""A candidate of the native engine: a case and the form it is printed in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from triage.judge.judgement import RefusedError
from triage.model.graphcase import GraphCase
from triage.reduce.graph import weight as weights
from triage.reduce.graph.canonical import canonical
from triage.reduce.graph.edits import Edit, Keep
from triage.reduce.printing.printer import Form, print_case, print_if_possible


@dataclass(frozen=True)
class Candidate:
    """What is printed, run and judged. Never changed; edits give new ones."""

    case: GraphCase
    form: Form = field(default_factory=Form)

    def after(self, edit: Edit) -> Candidate:
        """Raises RefusedError."""
        return replace(self, case=edit.apply(self.case))

    def kept(self, units: Iterable[str]) -> Candidate | None:
        """The slice of these units; None where it is refused."""
        return self.maybe(Keep(frozenset(units)))

    def some(self, groups: Iterable[Iterable[str]]) -> Iterator[Candidate]:
        """The slices of these groups of units that are not refused."""
        for units in groups:
            candidate = self.kept(units)
            if candidate is not None:
                yield candidate

    def maybe(self, edit: Edit) -> Candidate | None:
        """The candidate after an edit; None where it is refused."""
        try:
            return self.after(edit)
        except RefusedError:
            return None

    def key(self) -> str:
        """Equal for candidates that differ in names only."""
        return self._key

    def weight(self) -> weights.Weight:
        """Ordinary spelling is lighter than exact targets, all else being equal."""
        return self._weight

    @cached_property
    def _key(self) -> str:
        return f"{canonical(self.case)} {self.form!r}"

    @cached_property
    def _weight(self) -> weights.Weight:
        form = self.form
        return (*weights.weight(self.case), not form.nice, len(form.exact), -math.log10(form.fine or 1.0), form.seeded)

    def source(self, header: str = "") -> str:
        """The script. Raises triage.reduce.printing.printer.Unprintable."""
        return print_case(self.case, header=header, form=self.form)

    def text(self) -> str | None:
        """The same without a comment; None where it cannot be printed."""
        return print_if_possible(self.case, form=self.form)


def present(candidates: Iterable[Candidate | None]) -> Iterator[Candidate]:
    """Those that there are."""
    return (candidate for candidate in candidates if candidate is not None)
