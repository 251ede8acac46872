"""The agent in unmodified programs, with real torch: it sees every use and every failure, and changes nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hook_programs import EVERY_WAY, FAILS, HANDLES, HIDES, LEAVES, RANKS, TESTS

from triage.judge.signature import user_frame
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.staging import SITE
from triage.probe.target import Target

pytestmark = [pytest.mark.e2e, pytest.mark.quick, pytest.mark.timeout(240)]
BIN = Path(sys.executable).parent


def probe(folder: Path, *words: str, rung: str | None = None, **env: str) -> Probe:
    """Run these words in `folder`. Output lies in `folder/run/logs`."""
    target = Target(sys.executable, words, folder)
    extra = {"OMP_NUM_THREADS": "1", **env}
    return run_probe(ProbeRequest("p", target, rung, 120.0, folder / "run", extra_env=extra, verbose_logs=False))


def script(folder: Path, source: str, name: str = "train.py") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(source)
    return folder


def output(folder: Path, stream: str = "out") -> str:
    return (folder / "run" / "logs" / f"p.{stream}.log").read_text()


@pytest.mark.parametrize("rung", ["uncompiled", "eager"])
def test_every_way_to_use_it_works_as_before(tmp_path: Path, rung: str) -> None:
    found = probe(script(tmp_path, EVERY_WAY), sys.executable, "train.py", rung=rung)

    assert found.outcome.kind is OutcomeKind.OK, output(tmp_path, "err")[-3000:]
    facts = json.loads(output(tmp_path).splitlines()[-1])
    assert facts["values"] == [True, True] and facts["gradient"]
    assert (facts["name"], facts["doc"], facts["module"]) == ("bare", "Its words.", "__main__")
    assert (facts["original"], facts["described"], facts["is_module"]) == ("Net", "net of width 4", True)
    assert facts["keys"] == ["_orig_mod.linear.bias", "_orig_mod.linear.weight"]
    assert facts["own_keys"] == ["linear.bias", "linear.weight"]
    assert facts["path"] == []
    assert "triage" not in output(tmp_path, "err")

    calls = found.notes.compile_calls
    assert [call.name.rsplit(".", 1)[-1] for call in calls[:4]] == ["bare", "empty", "arguments", "method"]
    assert len(calls) == 15 and all(call.where.startswith("train.py:") for call in calls)
    assert (calls[2].fullgraph, calls[2].mode, calls[2].dynamic) == (True, "reduce-overhead", False)
    assert calls[3].options == ("max_autotune",)
    assert [call.backend for call in calls[4:6]] == ["inductor", "aot_eager"]
    assert [(call.backend, call.fullgraph) for call in calls[8:10]] == [("aot_eager", True), ("inductor", False)]
    assert not any(call.custom_backend for call in calls)
    assert found.notes.graphs == 0 if rung == "uncompiled" else found.notes.graphs >= 9
    assert found.notes.raised == () and found.notes.graph_breaks == 0


def test_what_torch_compiles_for_itself_is_left_alone(tmp_path: Path) -> None:
    """An eager scan is traced by torch itself; that is no compiler of the program's."""
    text = (
        "import torch\nfrom torch._higher_order_ops.scan import scan\n\nw = torch.nn.Parameter(torch.eye(2))\n\n"
        "@torch.compile\ndef last(x):\n    def step(s, now):\n        n = s @ w + now\n        return n, n.clone()\n\n"
        "    return scan(step, torch.zeros(3, 2), x, dim=0)[0]\n\nassert last(torch.ones(4, 3, 2)).sum() == 24\n"
    )
    found = probe(script(tmp_path, text), sys.executable, "train.py", rung="uncompiled")
    assert found.outcome.kind is OutcomeKind.OK, output(tmp_path, "err")[-3000:]
    assert [call.name for call in found.notes.compile_calls] == ["last"]


def test_what_a_program_handles_or_suppresses_is_seen(tmp_path: Path) -> None:
    found = probe(script(tmp_path, HANDLES), sys.executable, "train.py")
    assert output(tmp_path) == "handled BackendCompilerFailed\nwent on True\n"
    assert found.outcome.kind is OutcomeKind.EXCEPTION and found.outcome.exit_code == 0
    assert [(raised.phase, raised.swallowed) for raised in found.notes.raised] == [("compile", True), ("compile", True)]
    assert (found.signature.exception_type, found.signature.message) == ("KeyError", "'no kernel for relu'")
    assert found.notes.compile_calls[0].custom_backend and found.notes.compile_calls[0].backend == "broken"
    assert not found.notes.compile_calls[0].backend_by_name


def test_what_a_program_hides_and_wraps_is_seen(tmp_path: Path) -> None:
    found = probe(script(tmp_path / "a directory with spaces", HIDES), sys.executable, "train.py")
    assert output(tmp_path / "a directory with spaces") == "nothing to see\n"
    assert found.outcome.exit_code == 1
    assert found.signature.exception_type == "KeyError"  # not the program's own RuntimeError
    assert found.outcome.exception.ended == "uncaught"
    own = user_frame(found.outcome.exception)
    assert (own.file.rsplit("/", 1)[-1], own.function) == ("train.py", "broken")
    assert (found.notes.point.calls, found.notes.point.backwards) == (1, 0)


def test_a_module_beside_the_users_own_sitecustomize_that_leaves_at_once(tmp_path: Path) -> None:
    script(tmp_path / "pkg", LEAVES, "mod.py")
    script(tmp_path / "pkg", "", "__init__.py")
    script(
        tmp_path / "site",
        "import os\nos.environ['OWN_SITE'] = __name__ + ' of mine'\nprint('own site')",
        "sitecustomize.py",
    )
    found = probe(tmp_path, sys.executable, "-m", "pkg.mod", PYTHONPATH=own_path(tmp_path / "site"))
    assert output(tmp_path) == "own site\n"
    assert found.outcome.exit_code == 7
    assert found.signature.exception_type == "KeyError"


def own_path(*folders: Path) -> str:
    """PYTHONPATH as staging makes it of the user's, for `extra_env` wins over it."""
    from triage.probe.staging import SITE

    return os.pathsep.join(map(str, (SITE, *folders)))


def test_pytest(tmp_path: Path) -> None:
    found = probe(
        script(tmp_path, TESTS, "test_it.py"),
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_it.py",
    )
    assert "2 failed, 1 passed, 1 skipped, 1 xfailed" in output(tmp_path)
    assert found.outcome.exit_code == 1
    assert found.signature.exception_type == "KeyError"
    assert found.outcome.exception.ended == "test"
    assert found.notes.tests == 5


def test_a_check_of_unittest_under_pytest(tmp_path: Path) -> None:
    text = "import unittest\nimport torch\n\nclass Case(unittest.TestCase):\n    def test_it(self):\n"
    text += "        self.assertTrue(torch.ones(1) > 2, 'differs')\n"
    found = probe(script(tmp_path, text, "test_it.py"), sys.executable, "-m", "pytest", "-q", "test_it.py")
    assert found.signature.exception_type == "AssertionError"
    assert "differs" in found.signature.message


def test_unittest(tmp_path: Path) -> None:
    found = probe(script(tmp_path, TESTS, "test_it.py"), sys.executable, "-m", "unittest", "test_it.py")
    assert "FAILED (errors=1, skipped=1)" in output(tmp_path, "err")
    assert found.signature.exception_type == "KeyError"


def test_a_shell_that_loses_the_status(tmp_path: Path) -> None:
    script(tmp_path, FAILS + "f(torch.ones(3))\n")
    script(tmp_path, 'cd "$(dirname "$0")"\n"$1" train.py 2>&1 | tee copy.log\n', "run.sh")
    found = probe(tmp_path, "/bin/bash", "run.sh", sys.executable)
    assert found.outcome.exit_code == 0 and "no kernel for relu" in (tmp_path / "copy.log").read_text()
    assert found.outcome.kind is OutcomeKind.EXCEPTION
    assert found.signature.exception_type == "KeyError"


def test_ranks(tmp_path: Path) -> None:
    words = [str(BIN / "torchrun"), "--standalone", "--nproc-per-node", "2", "train.py"]
    found = probe(script(tmp_path, RANKS), *words)
    assert found.outcome.kind is OutcomeKind.EXCEPTION and found.outcome.exit_code == 1
    assert found.signature.exception_type == "KeyError"
    assert found.outcome.exception.rank == 1
    assert found.outcome.seconds < 60


def test_the_agent_leaves_a_program_without_torch_alone(tmp_path: Path) -> None:
    source = (
        "import sys\nprint('torch' in sys.modules, [m for m in sys.modules if m.startswith('triage')])\nsys.exit(5)\n"
    )
    found = probe(script(tmp_path, source), sys.executable, "train.py")
    assert output(tmp_path) == "False []\n" and found.outcome.exit_code == 5
    assert found.notes.started and found.notes.torch_version is None


def test_an_agent_that_cannot_start_stays_silent(tmp_path: Path) -> None:
    """The program runs as it would have."""
    script(tmp_path, "print('fine')\n")
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": own_path(), "TRIAGE_AGENT": "{not json"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert done.stderr.startswith("triage: the agent could not start") and len(done.stderr.splitlines()) == 1


DIES = """
import atexit, sys

kept = open("kept.txt", "w")
kept.write("not flushed")
atexit.register(lambda: open("handled.txt", "w").close())
import torch
try:
    raise KeyError("handled")
except KeyError as error:
    sys.excepthook(type(error), error, error.__traceback__)
if "dies" in sys.argv:
    raise ValueError("the end")
"""


@pytest.mark.parametrize("words", [["dies"], []])
def test_a_program_ends_as_it_would_whatever_it_dies_of(tmp_path: Path, words: list[str]) -> None:
    """What it wrote is on disk, its exit handlers have run, and those that were there before it (of a sitecustomize)."""
    script(tmp_path, DIES)
    early = script(tmp_path / "early", "import atexit\natexit.register(print, 'the last word')\n", "sitecustomize.py")
    for env, last in (({}, ""), ({"PYTHONPATH": f"{SITE}{os.pathsep}{early}"}, "the last word\n")):
        for name in ("kept.txt", "handled.txt"):
            (tmp_path / name).unlink(missing_ok=True)
        found = probe(tmp_path, sys.executable, "train.py", *words, **env)
        assert found.outcome.exit_code == len(words) and output(tmp_path) == last
        assert (tmp_path / "kept.txt").read_text() == "not flushed" and (tmp_path / "handled.txt").exists()
