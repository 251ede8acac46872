"""Whether the first C++ build of the machine is made beside other work, for the script or for a candidate on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe.staging import shared_with_forks
from triage.stories.first_build import begin_build_beside_script, begin_build_for_cpu


class AtOnce:
    """A thread whose work is done when it is started."""

    def __init__(self, target: Any, daemon: bool, args: Any = (), kwargs: Any = None) -> None:
        assert daemon
        self.start = partial(target, *args, **(kwargs or {}))


@dataclass
class Runner:
    """What it was asked to run."""

    ran: list[str] = field(default_factory=list)
    warmed: Callable[[], None] = lambda: None
    why_slow: str | None = None

    def beside(self) -> Any:
        return SimpleNamespace(run=lambda source, timeout: self.ran.append(source))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triage.stories.first_build.threading.Thread", AtOnce)


@pytest.fixture
def built() -> Callable[..., bool]:
    def asked(outcome: Outcome, share: float = 0.1) -> bool:
        runner = Runner()
        start = SimpleNamespace(outcome=outcome, signature=signature_of(outcome), notes=AgentNotes(device_share=share))
        found: Any = SimpleNamespace(runner=runner, walk=SimpleNamespace(start=start))
        begin_build_for_cpu(found)
        return len(runner.ran) == 1

    return asked


def raised(kind: str, message: str, *files: str) -> Outcome:
    frames = tuple(Frame(f"/site-packages/{file}", 1, "run", "") for file in files)
    return Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(kind, message, frames=frames))


def test_a_failure_of_inductor_on_a_gpu_is_tried_on_the_cpu(built: Callable[..., bool]) -> None:
    failed = raised("RuntimeError", "bad", "torch/_inductor/codecache.py")
    assert built(failed)
    assert not built(failed, share=0.0), "it uses no GPU"


@pytest.mark.parametrize(
    "failed",
    [
        raised("CompilationError", "at 5:11", "torch/_inductor/runtime/triton_heuristics.py"),
        raised("AcceleratorError", "CUDA error: device-side assert triggered", "train.py"),
        raised("torch._dynamo.exc.Unsupported", "graph break", "torch/_dynamo/symbolic_convert.py"),
    ],
    ids=["of Triton", "in a kernel", "of Dynamo"],
)
def test_what_the_cpu_cannot_fail_with_or_fails_with_before_any_build_is_not(
    built: Callable[..., bool], failed: Outcome
) -> None:
    assert not built(failed)


@pytest.mark.parametrize(
    ("jobs", "compiles", "known", "begun"),
    [
        (2, False, False, True),
        (1, False, False, False),
        (2, True, False, False),
        (2, False, True, False),
    ],
    ids=["it imports", "one core", "it compiles", "the machine is known"],
)
def test_what_the_script_will_wait_for_is_built_while_it_gets_ready(
    tmp_path: Path, jobs: int, compiles: bool, known: bool, begun: bool
) -> None:
    neutral, runner, waited = tmp_path / "toolchain", Runner(), []
    runner.warmed = lambda: waited.append("until it is warm")
    if known:
        (shared_with_forks(neutral) / "isa-1.json").touch()
    walk = SimpleNamespace(jobs=lambda: jobs, compiles=lambda: compiles and bool(waited))
    found: Any = SimpleNamespace(runner=runner, walk=walk, session=SimpleNamespace(neutral=neutral))
    begin_build_beside_script(found)
    assert (len(runner.ran) == 1) == begun
