"""One question about the parts of the compiler: the reproducer with a part off, run and judged; and what a run counted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from triage.culprit.settings import KNOWN_FILE, inserted, question_of_torch
from triage.judge.asking import Budget
from triage.judge.judgement import CandidateResult, Oracle
from triage.model.stage import Verdict
from triage.model.text import clip
from triage.trial.interface import CandidateRunner

_OVERLOAD = re.compile(r"<OpOverload\(op='([\w.:]+)', overload='(\w+)'\)>")  # as torch prints an operator
COUNTS, BEFORE, AFTER = "parts.jsonl", "before.txt", "after.txt"  # of `agent/warm/parts.py`
_OUTCOMES = {Verdict.SAME_FAILURE: "same_failure", Verdict.NO_FAILURE: "ok"}


class TellingRunner(CandidateRunner, Protocol):
    """A runner that can read files which a candidate writes; None, or no file, where it cannot."""

    def look(self, source: str, file: str) -> str | None: ...

    def run_telling(
        self, source: str, files: Sequence[str], *, rung: str | None = None, timeout: float = 60.0
    ) -> tuple[CandidateResult, Mapping[str, str]]: ...


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
    """By part, what each of its applications is, as the agent wrote it down."""
    found: dict[str, dict[int, str]] = {}
    for line in text.splitlines():
        try:
            part, number, what = json.loads(line)
        except ValueError:
            continue  # the line at which the process died
        found.setdefault(part, {})[number] = _OVERLOAD.sub(r"\1.\2", what)
    return found


@dataclass
class Asking:
    """One question at a time or several, each counted and told."""

    source: str
    rung: str
    runner: TellingRunner
    oracle: Oracle
    budget: Budget
    emit: Callable[..., None]
    seconds: float
    queries: int = 0
    took: dict[str, float] = field(default_factory=dict)

    def telling(self, text: str, files: Sequence[str], what: str) -> tuple[str, Mapping[str, str]]:
        limit = max(0.1, min(self.seconds, self.budget.left()))
        result, told = self.runner.run_telling(text, files, rung=self.rung, timeout=limit)
        return self._outcome(result, what)[0], told

    def several(self, texts: Sequence[tuple[str, str]]) -> dict[str, tuple[str, str]]:
        """(what, text) of each question: by `what`, the outcome and why."""
        limit = max(0.1, min(self.seconds, self.budget.left()))
        answers = {}
        asked = self.runner.run_many([text for _, text in texts], rung=self.rung, timeout=limit)
        for done, (index, result) in enumerate(asked, 1):
            what = texts[index][0]
            answers[what] = self._outcome(result, what)
            if done < len(texts) and self.budget.spent():
                break
        return answers

    def _outcome(self, result: CandidateResult, what: str) -> tuple[str, str]:
        judgement = self.oracle.judge(result)
        unclear = "other_failure" if result.compiled else "not_run"
        outcome = _OUTCOMES.get(judgement.verdict, unclear)
        self.queries += 1
        self.took[what] = round(result.seconds, 2)
        self.emit("part_asked", part=what, outcome=outcome, seconds=self.took[what])
        return outcome, "" if judgement.verdict in _OUTCOMES else clip(judgement.reason, 200)
