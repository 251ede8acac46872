"""Candidates of one run of triage, forked from an interpreter that another process lends, as in a sweep."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from killed_run import NOTES_AND_SLEEPS, kill_and_see_nothing_left, until

from triage.model.stage import OutcomeKind
from triage.probe.forkclient import Branch, ForkServer
from triage.probe.lending import ADDRESS, Lender
from triage.session.session import neutral_store
from triage.trial.runner import ForkServerRunner

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="the fork server runs on Linux; elsewhere fresh processes do"),
]

OK = "import os, time\nimport torch\ntorch.compile(torch.tanh, backend='eager')(torch.ones(2))\n"
BEHIND = "import os\nimport pygments\nimport torch\ntorch.compile(torch.tanh, backend='eager')(torch.ones({}))\n"
KILLS = OK + "if 'forkserver' in open(f'/proc/{os.getppid()}/cmdline').read(): os.kill(os.getppid(), 9)\n"
FAILS = OK + "raise ValueError('no')\n"


@pytest.fixture(scope="module")
def lender() -> Iterator[Lender]:
    made = Lender(sys.executable, neutral_store())
    yield made
    made.close()


@pytest.fixture
def runner(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServerRunner]:
    monkeypatch.setenv(ADDRESS, lender.address)
    made = ForkServerRunner(sys.executable, jobs=2, neutral=neutral_store())
    yield made
    made.close()


def test_candidates_are_forked_there_also_behind_imports(runner: ForkServerRunner) -> None:
    assert runner.run(OK).outcome.kind is OutcomeKind.OK
    assert runner.run(FAILS).outcome.kind is OutcomeKind.EXCEPTION
    assert isinstance(runner._server, Branch)
    kinds = [runner.run(BEHIND.format(number)).outcome.kind for number in range(1, 5)]
    until(lambda: any(branch is not None for branch in runner._branches._made.values()), 30.0)
    (behind,) = runner._branches._made.values()
    assert behind is not None and behind.alive
    kinds.append(runner.run(BEHIND.format(5)).outcome.kind)
    assert set(kinds) == {OutcomeKind.OK}


def test_one_that_ends_its_interpreter_ends_that_of_its_own_run(runner: ForkServerRunner, lender: Lender) -> None:
    assert runner.run(KILLS).outcome.kind is OutcomeKind.OK  # in a process of its own
    assert runner.run(OK).outcome.kind is OutcomeKind.OK
    assert isinstance(runner._server, ForkServer)  # from then on
    other = ForkServerRunner(sys.executable, jobs=1, neutral=neutral_store())
    try:
        assert other.run(OK).outcome.kind is OutcomeKind.OK
        assert isinstance(other._server, Branch)
    finally:
        other.close()


def test_of_a_run_that_is_killed_nothing_is_left(
    lender: Lender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper = OK + NOTES_AND_SLEEPS
    program = (
        "import sys\nfrom triage.session.session import neutral_store\nfrom triage.trial.runner import ForkServerRunner\n"
        "ForkServerRunner(sys.executable, jobs=1, neutral=neutral_store()).run(sys.argv[1], timeout=900)\n"
    )
    # As the lender's: it lends to who would start the same.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    kill_and_see_nothing_left(program, sleeper, {**os.environ, ADDRESS: lender.address}, tmp_path)
    assert not (tmp_path / "forkserver.log").exists()


def test_who_has_another_environment_starts_its_own(lender: Lender, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom triage.session.session import neutral_store\nfrom triage.trial.runner import ForkServerRunner\n"
        "made = ForkServerRunner(sys.executable, jobs=1, neutral=neutral_store())\n"
        "print(made.run(sys.argv[1]).outcome.kind.value, type(made._server).__name__)\nmade.close()\n"
    )
    env = {**os.environ, ADDRESS: lender.address, "PYTHONPATH": str(Path(__file__).parents[2]), "MKL_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", program, OK], env=env, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["ok", "ForkServer"]
