"""From a located failure to a small, verified reproducer and its ablation: the engines, runner and oracle put together."""

from __future__ import annotations

from pathlib import Path

from triage.findings import Findings
from triage.locate.conclude import Conclusion
from triage.locate.culprit import operators_in
from triage.locate.ladder import AS_IS
from triage.model.stage import Stage
from triage.probe.run import Probe
from triage.reduce.ablation import ablate, best_cures
from triage.reduce.choose import choose
from triage.reduce.interface import CandidateResult, Engine, Problem
from triage.reduce.native import NativeEngine
from triage.reduce.oracle import SignatureOracle
from triage.reduce.repro_after import ReproAfterEngine
from triage.reduce.runner import ForkServerRunner, verify

VERIFY_TIMEOUT_SECONDS = 120.0


def reproduce_small(found: Findings, conclusion: Conclusion) -> None:
    """Reduce, verify, ablate; fills `reproduced`, `reproducer_note`, `ablation` and `workarounds` of the findings."""
    session = found.session
    assert conclusion.signature is not None and conclusion.failing is not None
    problem = problem_of(found, conclusion)
    oracle = SignatureOracle(conclusion.signature)
    runner = ForkServerRunner(found.target.python, jobs=session.settings.jobs or None, neutral=session.neutral)

    def verified(source: str, runs: int) -> list[CandidateResult]:
        limit = min(VERIFY_TIMEOUT_SECONDS, session.settings.timeout)
        return verify(source, found.target.python, runs=runs, timeout=limit, neutral=session.neutral)

    try:
        with session.timed("reduce"):
            found.reproduced, notes = choose(
                problem,
                engines_for(found, conclusion),
                runner,
                oracle,
                verified,
                session.clock,
                session.emit,
                _single_file(found),
                header_of(found, conclusion),
            )
            if found.reproduced is None:
                found.reproducer_note = " ".join(
                    [*notes, found.capture_note or "", "The script itself is what reproduces the failure."]
                ).strip()
        made = found.reproduced
        if made is not None and made.graph is not None and made.verified:
            with session.timed("ablate"):
                rows, cures = ablate(made.graph, problem.rung, runner, oracle, session.clock, session.emit)
                found.ablation, found.workarounds = rows, best_cures(cures)
    finally:
        runner.close()


def problem_of(found: Findings, conclusion: Conclusion) -> Problem:
    """What the engines are given."""
    assert conclusion.signature is not None and conclusion.failing is not None
    outcome = conclusion.outcome
    folder = found.session.directory / "reduce"
    folder.mkdir(exist_ok=True)
    failing = conclusion.failing.name
    return Problem(
        signature=conclusion.signature,
        stage=conclusion.stage,
        rung="inductor" if failing == AS_IS else failing,
        direction=conclusion.direction.value if conclusion.direction else None,
        cases=found.cases,
        workdir=folder,
        evidence=operators_in(outcome.exception if outcome else None),
        torch_version=_torch_version(found.walk.seen[found.walk.rungs[found.walk.top].name][0]),
    )


def engines_for(found: Findings, conclusion: Conclusion) -> list[Engine]:
    """The engines to try, in order. Without a graph there is nothing that either could take apart."""
    if not found.cases or conclusion.stage is Stage.BACKEND:
        return []
    chosen = found.session.settings.engine
    engines: list[Engine] = []
    if chosen in ("auto", "native"):
        engines.append(NativeEngine())
    if chosen in ("auto", "repro_after"):
        engines.append(ReproAfterEngine(found.target, found.session.directory, neutral=found.session.neutral))
    return engines


def header_of(found: Findings, conclusion: Conclusion) -> str:
    """The comment at the top of a reproducer: what fails, where, and the version it was seen on."""
    signature = conclusion.signature
    assert signature is not None
    first = found.walk.seen[found.walk.rungs[found.walk.top].name][0]
    where = f" in {signature.innermost_frame}" if signature.innermost_frame else ""
    message = signature.message.splitlines()[0][:110] if signature.message else ""
    passing = conclusion.passing.name if conclusion.passing else "eager"
    return (
        f"{signature.exception_type}: {message}\n"
        f"Stage {conclusion.stage.value}{where}; passes with {passing}. Seen on torch {_torch_version(first)}."
    )


def _torch_version(probe: Probe) -> str:
    return probe.notes.torch_version or "unknown"


def _single_file(found: Findings) -> str | None:
    script: Path | None = found.target.script
    if script is None or script.suffix != ".py" or len(found.target.command) > 2:
        return None  # it has arguments, or is started by something else: alone it is not the same program
    try:
        return script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
