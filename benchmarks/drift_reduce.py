"""Lets the project's own reduction loose on a program, as `triage run` does, with everything warm.

The story is the project's: walk the ladder, compare, capture, `reproduce_small`. What is exchanged is only where things
run: probes and the runs that verify a reproducer are forks of a warm interpreter, and nothing is ablated.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from drift_forks import Forks, Plot
from drift_programs import Program

from triage.judge.judgement import CandidateResult, Judgement
from triage.judge.naming import one_line
from triage.locate import comparing
from triage.locate.walk import Walk
from triage.model.stage import OutcomeKind, Stage, Verdict
from triage.probe.target import make_target
from triage.session.events import Emitter
from triage.session.session import open_session
from triage.session.settings import Settings
from triage.stories import reproduce
from triage.stories.captured import captured
from triage.stories.findings import Findings
from triage.trial.runner import ForkServerRunner

NATIVE, SOURCE = "native", "source"
BUDGET = 180.0


@dataclass(frozen=True)
class Reduced:
    """What a reducer left. `source` is empty where it left nothing, and `note` says why."""

    source: str = ""
    verified: bool = False
    ops: int | None = None
    queries: int = 0
    seconds: float = 0.0
    signature: str = ""
    note: str = ""
    stage: str = ""
    symptom: str = ""


class AnyFailure:
    """The loosest oracle: whatever fails once something was compiled is the failure."""

    def judge(self, result: CandidateResult) -> Judgement:
        outcome = result.outcome
        wrong = result.notes.wrong is not None
        if outcome.kind is OutcomeKind.OK and not wrong:
            return Judgement(Verdict.NO_FAILURE)
        if outcome.kind is OutcomeKind.INVALID or not result.compiled:
            return Judgement(Verdict.UNRESOLVED)
        return Judgement(Verdict.SAME_FAILURE)


class Bench:
    """What all programs share: the warm interpreters, the file of the faults."""

    def __init__(self, python: str, folder: Path, *, reducer: str, loose: bool) -> None:
        self.plot = Plot(folder)
        self.forks = Forks(python, folder / "forks", self.plot)
        self._python, self._reducer, self._loose = python, reducer, loose
        self._runner = ForkServerRunner(python, jobs=1)

    def close(self) -> None:
        self._runner.close()
        self.forks.close()

    def reduce(self, program: Program, folder: Path) -> Reduced:
        """The reducer on the program in this folder, which must be new."""
        folder.mkdir(parents=True)
        (folder / "script.py").write_text(program.source, encoding="utf-8")
        self.plot.plant(program.faults)
        began = time.monotonic()
        found = self._findings(folder)
        try:
            with self._exchanged():
                note = self._story(found)
        finally:
            self._runner.compare(None)  # type: ignore[arg-type]  # the next program may have a check of its own
        return _reduced(found, note, time.monotonic() - began)

    def _findings(self, folder: Path) -> Findings:
        target = make_target(["script.py"], module=None, raw=False, python=self._python, cwd=folder)
        settings = Settings(out=folder / "run", jobs=1, timeout=60.0, budget=BUDGET)
        session = open_session(settings, target.label, target.cwd, Emitter())
        walk = Walk(session, target, probe=self.forks.probe)
        return Findings(session, target, target.command, walk, runner=self._runner)

    def _story(self, found: Findings) -> str:
        """Locate, capture, reduce; a sentence where there was nothing to reduce."""
        found.walk.first()
        if comparing.worth_comparing(found.walk):
            comparing.compare(found.walk)
        found.walk.settle()
        if comparing.worth_checking(found.walk):
            comparing.check(found.walk)
        conclusion = found.walk.conclusion()
        if conclusion.stage in (Stage.NONE, Stage.SCRIPT) or not conclusion.settled:
            return f"nothing is blamed: stage {conclusion.stage.value}"
        if self._reducer == NATIVE:
            found.cases, found.capture_note = captured(found.walk, conclusion)
        reproduce.reproduce_small(found, conclusion)
        return found.reproducer_note or ""

    @contextlib.contextmanager
    def _exchanged(self) -> Iterator[None]:
        attempts_for = reproduce.attempts_for

        def loose(*words: Any, **named: Any) -> list[Any]:
            return [replace(attempt, oracle=AnyFailure()) for attempt in attempts_for(*words, **named)]

        def native(*words: Any, **named: Any) -> list[Any]:
            """Of the engines that are tried in turn only the first, so that it is known which one drifted."""
            made: list[Any] = (loose if self._loose else attempts_for)(*words, **named)
            return made[:1]

        with patch.multiple(
            reproduce, verify_with_control=self._shown, verify=self._verify, blame=_nothing, attempts_for=native
        ):
            yield

    def _shown(self, source: str, python: str, passing: str, **how: Any) -> tuple[list[CandidateResult], None]:
        return self._verify(source, python, **how), None

    def _verify(self, source: str, python: str, *, runs: int = 3, **_: Any) -> list[CandidateResult]:
        """Warm, as a candidate runs (compared, where candidates are), and once: nothing in these programs is random."""
        return [self._runner.run(source)] * runs


def _nothing(*_: Any) -> None:
    """In the place of the search for what is to blame."""


def _reduced(found: Findings, note: str, seconds: float) -> Reduced:
    conclusion = found.walk.conclusion()
    words = one_line(conclusion.signature) if conclusion.signature is not None else ""
    told = {"signature": words, "stage": conclusion.stage.value, "symptom": conclusion.symptom.value}
    made = found.reproduced
    if made is None or made.engine == "none":
        return Reduced(seconds=seconds, note=note or "unreduced", **told)
    return Reduced(made.source, made.verified, made.ops, made.queries, seconds, note=note, **told)


Reducing = Callable[[Program, Path], Reduced]
