"""Passing candidates cost most: they go on through code generation and a C++ build. This runner lets them stop early.

It learns from the candidates it runs. The first one that fails with the signature of interest tells, by its last
breadcrumb, in which phase of the Inductor compile that failure lies; the same text is then run with the cut-off, beside
the candidates that follow, and only if it still fails the same way are later candidates cut off after that phase. What
hangs in a phase was never past it, and is not run again for that. Nothing is ever believed to fail because of the cut-off:
a failing candidate of which some graph was cut off is run again in full.
"""

from __future__ import annotations

import re
import threading

from triage.judge.judgement import CandidateResult
from triage.judge.likeness import same_failure
from triage.judge.signature import FailureSignature
from triage.model.outcome import AgentNotes
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel
from triage.trial.interface import CandidateRunner
from triage.trial.pool import Query, RunnerView
from triage.trial.runner import ForkServerRunner

# As `agent/warm/phases.py` tells them; what comes after code generation is not worth cutting off.
_CRUMB = re.compile(r"(lowering|scheduling|codegen|build|run) of the (?:forward|backward) graph")
_CUTS = ("lowering", "scheduling", "codegen")
# Breadcrumbs after which Inductor's own part of the compile may have begun without a word.
_BEFORE_INDUCTOR = re.compile(r"compile graph|inductor compiles")

# Where a frame belongs, by file and function. The latest phase of the frames given wins.
_FRAME_PHASES: tuple[tuple[re.Pattern[str], str | None], ...] = (
    (
        re.compile(r"torch/_inductor/(?:codecache|cpp_builder|async_compile|runtime/|output_code|autotune_process)"),
        None,
    ),
    (re.compile(r"torch/_inductor/(?:codegen/|scheduler\.py|memory\.py|comms\.py)"), "codegen"),
    (re.compile(r"torch/_inductor/graph\.py:(?:run|run_node|call_function|placeholder|get_attr|output)$"), "lowering"),
    (re.compile(r"torch/_inductor/graph\.py:"), None),
    (re.compile(r"torch/_inductor/(?:fx_passes/|pattern_matcher\.py|fx_utils\.py)"), "lowering"),
)


def focused(runner: CandidateRunner, signature: FailureSignature) -> CandidateRunner:
    """A runner that looks for this failure only: a candidate that is past it may be called passing. Close `runner` alone."""
    return CutOffRunner(runner, signature) if isinstance(runner, ForkServerRunner) else runner


def phase_of_failure(notes: AgentNotes, signature: FailureSignature) -> str | None:
    """The phase after which a passing candidate may be cut off; None where that is not certain.

    The last breadcrumb is what was seen; frames decide only where there was none from inside the compile.
    """
    found = _CRUMB.match(notes.last_breadcrumb)
    if found is not None:
        return found.group(1) if found.group(1) in _CUTS else None
    if notes.last_breadcrumb and not _BEFORE_INDUCTOR.match(notes.last_breadcrumb):
        return None
    return phase_of_frames(signature.frames)


def phase_of_frames(frames: tuple[str, ...]) -> str | None:
    """The same from the innermost torch frames (`torch/_inductor/graph.py:call_function`) alone."""
    seen: list[str] = []
    for frame in frames:
        for pattern, phase in _FRAME_PHASES:
            if pattern.match(frame):
                if phase is None:
                    return None
                seen.append(phase)
                break
    return max(seen, key=_CUTS.index) if seen else None


class CutOffRunner(RunnerView):
    """A view of a `ForkServerRunner`. `cut_off` is the phase it has learned, None before that or where there is none."""

    def __init__(self, runner: ForkServerRunner, signature: FailureSignature) -> None:
        super().__init__(runner)
        self.cut_off: str | None = None
        self._forks = runner
        self._signature = signature
        self._lesson: threading.Thread | None = None

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        facts = self._forks.run_cut(query, cancel, self.cut_off)
        if not self._same(facts.result):
            return facts.result
        if facts.cut:
            return self._forks.run_cut(query, cancel, None).result
        phase = phase_of_failure(facts.result.notes, self._signature)
        with self._lock:
            if phase is not None and facts.result.outcome.kind is OutcomeKind.HANG:
                self.cut_off = self.cut_off or phase  # it was never past the phase: nothing would have been cut off
            elif self._lesson is None and phase is not None:
                self._lesson = threading.Thread(target=self._learn, args=(query, phase), daemon=True)
                self._lesson.start()
        return facts.result

    def learned(self) -> str | None:
        """The phase, once what is being learned is known."""
        if self._lesson is not None:
            self._lesson.join()
        return self.cut_off

    def _learn(self, query: Query, phase: str) -> None:
        # The runner's end ends it: it is asked nothing that anybody waits for.
        if self._same(self._forks.run_cut(query, Cancel(), phase).result):
            self.cut_off = phase

    def _same(self, result: CandidateResult) -> bool:
        return same_failure(result.signature, self._signature)
