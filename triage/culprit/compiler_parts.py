"""One question about the parts of the compiler: the reproducer with a part off, run and judged; and what a run counted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from triage.culprit.inquiry import Inquiry, TellingRunner, ended_by_time
from triage.culprit.settings import KNOWN_FILE, inserted, question_of_torch
from triage.judge.judgement import CandidateResult

_OVERLOAD = re.compile(r"<OpOverload\(op='([\w.:]+)', overload='(\w+)'\)>")  # as torch prints an operator
COUNTS, BEFORE, AFTER = "parts.jsonl", "before.txt", "after.txt"  # of `agent/warm/parts.py`


def known_settings(runner: TellingRunner) -> dict[str, str] | None:
    """The options that this torch has and what they are by default; None where nobody could tell."""
    told = runner.look(question_of_torch(), KNOWN_FILE)
    if told is None:
        return None
    try:
        found = json.loads(told)
    except ValueError:
        return None
    return {str(name): str(value) for name, value in found.items()}


def counting(
    source: str, off: tuple[str, ...] = (), part: str | None = None, most: int | None = None, shown: int | None = None
) -> str:
    """The script, whose compiles are counted: without the parts `off`, and with no more than so many applications of one."""
    asked = f"_triage_agent.warm.parts.install({off!r}, {part!r}, {most}, {shown})"
    return inserted(source, f"import _triage_agent.warm.parts\n{asked}")


def applications(text: str) -> dict[str, dict[int, str]]:
    """By part, what each of its applications is, as the agent wrote it down; none of a part that it sees and that is not applied.

    A part that is not in here is one that this torch does not let be counted.
    """
    found: dict[str, dict[int, str]] = {}
    for line in text.splitlines():
        try:
            part, number, what = json.loads(line)
        except ValueError:
            continue  # the line at which the process died
        seen = found.setdefault(part, {})
        if number:
            seen[number] = _OVERLOAD.sub(r"\1.\2", what)
    return found


@dataclass
class PartQueries:
    """Runs the reproducer `source` with parts of the compiler off, counts these runs and tells listeners of each."""

    source: str
    inquiry: Inquiry
    queries: int = 0
    took: dict[str, float] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)  # what had not ended in its time

    def spent(self) -> bool:
        """Whether there is no time for another."""
        return self.inquiry.budget.spent()

    def telling(self, text: str, files: Sequence[str], what: str) -> tuple[str, Mapping[str, str]]:
        limit = self.inquiry.limit()
        result, told = self.inquiry.runner.run_telling(text, files, rung=self.inquiry.rung, timeout=limit)
        return self._outcome(result, what)[0], told

    def several(self, texts: Sequence[tuple[str, str]]) -> dict[str, tuple[str, str]]:
        """(what, text) of each question: by `what`, the outcome and why."""
        answers = self.inquiry.run_many([text for _, text in texts], self.inquiry.rung)
        return {texts[index][0]: self._outcome(result, texts[index][0]) for index, result in answers}

    def _outcome(self, result: CandidateResult, what: str) -> tuple[str, str]:
        outcome, why = self.inquiry.judged(result)
        self.queries += 1
        if outcome == "not_run" and ended_by_time(result):
            self.late.add(what)
        self.took[what] = round(result.seconds, 2)
        self.inquiry.emit("part_asked", part=what, outcome=outcome, seconds=self.took[what])
        return outcome, why
