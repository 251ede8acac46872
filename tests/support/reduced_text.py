"""A failing program, run once, and its text reduced by the source engine."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from triage.judge.comparison import FirstComparisonOracle
from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.locate.outcomes import is_script_check
from triage.model.stage import Stage, Verdict
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import make_target
from triage.reduce.interface import Problem, Reduction
from triage.reduce.text.engine import FailingRun, SourceEngine
from triage.session.clock import Clock
from triage.session.session import neutral_store
from triage.trial.fresh import Fresh, verify
from triage.trial.interface import Resources
from triage.trial.patience import Patience
from triage.trial.runner import ForkServerRunner

PYTHON = sys.executable


@dataclass(frozen=True)
class Ended:
    """A reduction, and the run of its script in a fresh process."""

    found: Reduction
    fresh: CandidateResult

    @property
    def source(self) -> str:
        return self.found.source

    @property
    def imports(self) -> set[str]:
        tree = ast.parse(self.source)
        return {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names} | {
            node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        }


def reduced(
    place: Path,
    out: Path,
    runner: ForkServerRunner,
    *words: str,
    command: tuple[str, ...] = (),
    stage: Stage = Stage.DYNAMO,
    compared: bool = False,
    operation_only: bool = False,
) -> Ended:
    """Reduce `script.py` of this directory (or what the command runs), which fails with Dynamo alone, or its own backend."""
    rung = None if stage is Stage.BACKEND else "eager"
    target = make_target(command or ["script.py", *words], module=None, raw=bool(command), python=PYTHON, cwd=place)
    out.mkdir()
    request = ProbeRequest("failing", target, rung, 200, out, neutral=neutral_store(), verbose_logs=False)
    probe = run_probe(request)
    assert probe.signature is not None, probe.log.read_text()
    oracle: SignatureOracle | FirstComparisonOracle = (
        FirstComparisonOracle() if compared else SignatureOracle(probe.signature)
    )
    rung_of_failure = rung or "inductor"
    problem = Problem(probe.signature, stage, rung_of_failure, "forward", (), out, operation_only=operation_only)
    notes = probe.notes
    check = is_script_check(probe.outcome)
    seen = FailingRun(probe.outcome, notes.point.calls, notes.compile_calls, check, recompiles=notes.recompiles)
    engine = SourceEngine(
        target, seen, timeout=100, patience=Patience(100, hangs=False), neutral=neutral_store(), header="What fails."
    )
    engine = replace(engine, compared=oracle) if isinstance(oracle, FirstComparisonOracle) else engine
    found = engine.reduce(problem, Resources(runner, oracle, Clock(0), lambda kind, **facts: None))
    assert isinstance(found, Reduction), found
    (fresh,) = verify(found.private or found.source, PYTHON, Fresh(neutral=neutral_store()), runs=1)
    assert oracle.judge(fresh).verdict is Verdict.SAME_FAILURE, found.source
    assert "TORCH_COMPILE_BACKEND" in found.source and str(place) not in found.source
    return Ended(found, fresh)
