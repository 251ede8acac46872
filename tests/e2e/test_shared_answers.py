"""What the compiler said of this machine is asked once: the first run of a script finds out, all later processes read it."""

import sys
from pathlib import Path

import pytest

from triage.model.stage import OutcomeKind
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import Target
from triage.trial.runner import ForkServerRunner

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

COMPILES = "import torch\n\ntorch.compile(lambda x: torch.relu(x) + 1)(torch.ones(64))\n"
COMPILER = """#!/bin/sh
echo "$@" >> "{log}"
exec g++ "$@"
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """g++, which writes down what it was asked for. Returns the file."""
    log, wrapper = tmp_path / "asked.log", tmp_path / "c++"
    wrapper.write_text(COMPILER.format(log=log))
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    return log


def asked_in(log: Path) -> list[str]:
    """What the compiler was asked for since the last look, but for its version."""
    lines = [line for line in log.read_text().splitlines() if line not in ("--version", "-dumpmachine")]
    log.write_text("")
    return [line for line in lines if " -o " in f" {line} "]


def test_the_second_process_asks_for_its_kernel_alone(tmp_path: Path, compiler: Path) -> None:
    (tmp_path / "train.py").write_text(COMPILES)
    target, neutral = Target(sys.executable, (sys.executable, "train.py"), tmp_path), tmp_path / "toolchain"

    def run(name: str) -> list[str]:
        found = run_probe(ProbeRequest(name, target, None, 200.0, tmp_path / "run", neutral=neutral))
        assert found.outcome.kind is OutcomeKind.OK, (tmp_path / "run" / "logs" / f"{name}.err.log").read_text()
        return asked_in(compiler)

    first, second = run("first"), run("second")
    assert len(first) > len(second) == 1
    assert not any(" -E " in line for line in second)  # no header is preprocessed again

    runner = ForkServerRunner(sys.executable, jobs=1, neutral=neutral)
    try:
        assert runner.run(COMPILES).outcome.kind is OutcomeKind.OK
    finally:
        runner.close()
    assert len(asked_in(compiler)) == 1  # nor does the warm interpreter ask what the script's runs know
