"""What is asked of the compiler once: facts about the machine, of all; a kernel, within one run of triage.

The first process finds out, all later ones read it.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from triage.model.stage import OutcomeKind
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import Target
from triage.trial.fresh import Fresh, verify
from triage.trial.runner import ForkServerRunner

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

COMPILES = "import torch\n\ntorch.compile(lambda x: torch.relu(x) + 1)(torch.ones(64))\n"
REFUSED = (
    "import torch._inductor.config\n\ntorch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = 'compile_error'\n"
    + COMPILES
)
COMPILER = """#!/bin/sh
echo "$@" >> "{log}"
exec g++ "$@"
"""


@dataclass(frozen=True)
class Place:
    """A folder with a compiler that writes down what it was asked for, and with what processes share."""

    folder: Path

    @property
    def neutral(self) -> Path:
        return self.folder / "toolchain"

    @property
    def kernels(self) -> Path:
        return self.folder / "kernels"

    def run(self, name: str, text: str = COMPILES, kernels: Path | None = None) -> tuple[OutcomeKind, list[str]]:
        """How a script ends, and what it asked of the compiler."""
        (self.folder / "train.py").write_text(text)
        target = Target(sys.executable, (sys.executable, "train.py"), self.folder)
        request = ProbeRequest(name, target, None, 200.0, self.folder / "run", neutral=self.neutral, kernels=kernels)
        return run_probe(request).outcome.kind, self.asked()

    def asked(self) -> list[str]:
        """What the compiler was asked for since the last look, but for its version."""
        log = self.folder / "asked.log"
        lines = [line for line in log.read_text().splitlines() if line not in ("--version", "-dumpmachine")]
        log.write_text("")
        return [line for line in lines if " -o " in f" {line} "]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    found = Place(tmp_path_factory.mktemp("shared"))
    found.kernels.mkdir()
    wrapper = found.folder / "c++"
    wrapper.write_text(COMPILER.format(log=found.folder / "asked.log"))
    wrapper.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", str(wrapper))
        yield found


@pytest.fixture(scope="module")
def first(place: Place) -> list[str]:
    """What the first of all processes asks."""
    kind, asked = place.run("first")
    assert kind is OutcomeKind.OK
    return asked


def test_the_second_process_asks_for_its_kernel_alone(place: Place, first: list[str]) -> None:
    kind, second = place.run("second")
    assert kind is OutcomeKind.OK
    assert len(first) > len(second) == 1
    assert not any(" -E " in line for line in second)  # no header is preprocessed again

    runner = ForkServerRunner(sys.executable, jobs=1, neutral=place.neutral)
    try:
        assert runner.run(COMPILES).outcome.kind is OutcomeKind.OK
    finally:
        runner.close()
    assert len(place.asked()) == 1  # nor does the warm interpreter ask what the script's runs know


@pytest.mark.usefixtures("first")
def test_a_kernel_is_built_once_and_a_build_that_fails_again(place: Place) -> None:
    kernels = place.kernels
    counts = []
    for name, text in (("building", COMPILES), ("built", COMPILES), ("refused", REFUSED), ("again", REFUSED)):
        kind, asked = place.run(name, text, kernels)
        counts.append((kind, len(asked)))
    assert counts == [(OutcomeKind.OK, 1), (OutcomeKind.OK, 0), (OutcomeKind.EXCEPTION, 1), (OutcomeKind.EXCEPTION, 1)]

    runner = ForkServerRunner(sys.executable, jobs=1, neutral=place.neutral, kernels=kernels)
    try:
        of_candidates = []
        for text in (COMPILES, REFUSED, REFUSED):
            runner.run(text)
            of_candidates.append(len(place.asked()))
    finally:
        runner.close()
    assert of_candidates == [0, 1, 1]

    [result] = verify(COMPILES, sys.executable, Fresh(neutral=place.neutral), runs=1)  # builds its own
    assert result.outcome.kind is OutcomeKind.OK
    assert len(place.asked()) == 1
