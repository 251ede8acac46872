"""What candidates begin with is imported once for all of them, where that shows in nothing."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from triage.model.stage import OutcomeKind
from triage.trial.branches import OFTEN
from triage.trial.runner import ForkServerRunner

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.quick,
    pytest.mark.skipif(sys.platform != "linux", reason="the fork server runs on Linux; elsewhere fresh processes do"),
]

LIBRARIES = {
    "plain_library": "",
    "threaded_library": "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n",
    "compiling_library": "import torch\n@torch.compile\ndef twice(x):\n    return x * 2\n",
    "compile_by_name": "from torch import compile\n",
    "writing_library": "import os\nopen(os.path.join(os.path.dirname(__file__), 'cache'), 'w').close()\n",
}
TEXT = (
    "import os, sys\nimport torch\n{imports}\n"
    "torch.compile(lambda x: x.sin(), backend='eager')(torch.ones(3))\n"
    "print(os.getpid(), *(getattr(sys.modules.get(name), 'PID', 0) for name in ('plain_library', {name!r})), '{number}')\n"
)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServerRunner]:
    folder = tmp_path_factory.mktemp("libraries")
    for name, text in LIBRARIES.items():
        (folder / f"{name}.py").write_text(f"import os\nPID = os.getpid()\n{text}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
        made = ForkServerRunner(sys.executable, jobs=1, memory_mb=1200)
        made.warmed()
        yield made
    made.close()


def pids(runner: ForkServerRunner, name: str, number: int, imports: str = "") -> tuple[int, int, int]:
    """Of the candidate, of who imported the plain library, and of who imported the named one; 0 where nobody did."""
    result = runner.run(TEXT.format(imports=imports or f"import {name}", name=name, number=number), timeout=60)
    assert result.outcome.kind is OutcomeKind.OK and result.compiled, result.outcome
    own, plain, named, _ = result.printed.split()
    return int(own), int(plain), int(named)


def forked(runner: ForkServerRunner, name: str, seconds: float) -> int:
    """The process that imported it for a candidate that did not; 0 where each had to."""
    end, number = time.monotonic() + seconds, 0
    while number < 2 * OFTEN or time.monotonic() < end:
        own, _, library = pids(runner, name, number)
        assert number >= OFTEN or library == own
        if library != own:
            return library
        number += 1
    return 0


def test_candidates_with_the_same_imports_are_forked_behind_them(runner: ForkServerRunner) -> None:
    branch = forked(runner, "plain_library", 30.0)
    assert branch
    own, plain, _ = pids(runner, "plain_library", 1000, imports="import json")
    assert plain == 0  # what it does not import is not there
    own, plain, _ = pids(runner, "plain_library", 1001, imports="import plain_library, json")
    assert plain == branch
    os.kill(branch, signal.SIGKILL)
    end = time.monotonic() + 10.0
    while pids(runner, "plain_library", 1002)[1] == branch:
        assert time.monotonic() < end
    own, plain, _ = pids(runner, "plain_library", 1003)
    assert plain == own


@pytest.mark.parametrize("name", [name for name in LIBRARIES if name != "plain_library" and name != "writing_library"])
def test_a_library_of_which_a_fork_would_lack_something_is_imported_by_each(
    runner: ForkServerRunner, name: str
) -> None:
    assert forked(runner, name, 3.0) == 0


def test_nobody_writes_outside_of_his_place_by_importing(runner: ForkServerRunner, tmp_path: Path) -> None:
    source = TEXT.format(imports="import writing_library", name="writing_library", number=0)
    for number in range(2 * OFTEN):
        result = runner.run(f"{source}# {number}\n", timeout=60)
        assert result.outcome.kind is OutcomeKind.EXCEPTION and "OutsideError" in str(result.outcome.exception)
