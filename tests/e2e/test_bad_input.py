"""Bad input, through the command line: what is said, the exit code, what is left in the run directory, and no orphan."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Command, left_over

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
ERROR = re.compile(r"\Atriage: .+\n  why:  .+\n  next: .+\n?\Z")

# Scripts that need no torch are quick; most of what is tested here lies outside of it.
SLEEPS = "print('began', flush=True)\nimport time\ntime.sleep(120)\n"
FAILS_UNCOMPILED = "print('loading')\nraise ValueError('no weights here')\n"
HANGS_IN_DYNAMO = """
import time, traceback
import torch

@torch._dynamo.assume_constant_result
def wait():
    if any("symbolic_convert" in frame.filename for frame in traceback.extract_stack()):
        time.sleep(200)
    return 1

@torch.compile(fullgraph=True, backend="eager")
def f(x):
    return x + wait()

f(torch.ones(3))
"""


@pytest.fixture
def triage(tmp_path: Path) -> Command:
    return Command(tmp_path)


def refused(done: "subprocess.CompletedProcess[str]", code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert ERROR.match(done.stderr), done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


# -- wrong usage: nothing is run ----------------------------------------------------------------------------------------


def test_no_script_of_that_name(triage: Command) -> None:
    refused(triage("run", "missing.py"), 2, "There is no script missing.py", str(triage.folder))


def test_a_directory(triage: Command) -> None:
    (triage.folder / "src").mkdir()
    refused(triage("run", "src/"), 2, "src/ is a directory", "for example: src/train.py")


def test_a_syntax_error(triage: Command) -> None:
    done = triage("run", "--out", "out", triage.script("import torch\ndef f(:\n    pass\n"))
    refused(done, 2, "train.py is not valid Python: line 2")
    assert not triage.out.exists()


@pytest.mark.parametrize(
    ("name", "content"), [("notes.ipynb", b"{}"), ("weights.pt", b"PK\x03\x04\0\0"), ("train.py", b"\xff\xfe\0x")]
)
def test_what_is_no_script(triage: Command, name: str, content: bytes) -> None:
    (triage.folder / name).write_bytes(content)
    refused(triage("run", name), 2, name)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run",), "nothing to run"),
        (("run", "--nonsense", "train.py"), "--nonsense"),
        (("run", "--timeout", "soon", "train.py"), "--timeout"),
        (("run", "--timeout", "-1", "train.py"), "timeout"),
        (("run", "--engine", "fast", "train.py"), "auto, native, repro_after"),
        (("run", "--format", "pdf", "train.py"), "md"),
        (("run", "--", "no-such-command", "x"), "no-such-command was not found"),
        (("rum", "train.py"), "rum"),
        (("report", "nowhere"), "nowhere"),
        (("verify", "nowhere.py"), "nowhere.py"),
    ],
)
def test_words_that_mean_nothing(triage: Command, words: tuple[str, ...], told: str) -> None:
    triage.script("pass\n")
    refused(triage(*words), 2, told)


def test_an_output_directory_that_cannot_be_made(triage: Command) -> None:
    triage.script("pass\n")
    (triage.folder / "file").write_text("in the way")
    refused(triage("run", "--out", "file/run", "train.py"), 2, "file/run cannot be written")


# -- targets that cannot be used ----------------------------------------------------------------------------------------


def test_no_interpreter_there(triage: Command) -> None:
    triage.script("pass\n")
    refused(triage("run", "--python", "/no/such/python", "train.py"), 4, "There is no interpreter at /no/such/python")
    refused(triage("doctor", "--python", "/no/such/python"), 4, "/no/such/python")


@pytest.mark.parametrize("program", ["/bin/true", "/bin/false", "/bin/cat"])
def test_an_interpreter_that_is_none(triage: Command, program: str) -> None:
    triage.script("pass\n")
    done = triage("run", "--quiet", "--python", program, "train.py")
    refused(done, 4, f"{program} is not a Python interpreter")


def test_a_target_without_torch(triage: Command) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", triage.folder / "bare"], check=True)
    python = str(triage.folder / "bare" / "bin" / "python")
    triage.script("import torch\n")
    refused(
        triage("run", "--quiet", "--python", python, "train.py"),
        4,
        "There is no torch in",
        python,
        "ModuleNotFoundError",
    )
    done = triage("doctor", "--python", python)
    assert done.returncode == 4 and re.search(r"^BAD +torch .*ModuleNotFoundError", done.stdout, re.MULTILINE)
    assert "pip install torch" in done.stdout


def test_a_target_that_keeps_the_agent_out(triage: Command) -> None:
    triage.script("pass\n")
    done = triage("run", "--quiet", "--", sys.executable, "-I", "train.py")
    refused(done, 4, "could not get into the target process", "-I")
    done = triage("run", "--quiet", "ls")
    refused(done, 2, "ls started no Python", "/ls was run")


def test_a_compiler_that_is_not_there_is_told_by_the_doctor(triage: Command) -> None:
    process = triage.start("doctor", CXX="/no/such/g++")
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if lines[-1].startswith("      ") and "compiler" in lines[-2]:
            break
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    assert lines[-2].startswith("BAD   compiler") and "install g++" in lines[-1]
    assert gone(triage)


def test_without_a_compiler_there_is_still_a_report(triage: Command) -> None:
    triage.script("import torch\ntorch.compile(lambda x: x.sin() + 1)(torch.ones(8))\n")
    triage.out = triage.folder / "a dir" / "out"
    done = triage("run", "--no-reduce", "--quiet", "--out", "a dir/out", "train.py", CXX="/no/such/g++")
    assert (done.returncode, done.stdout) == (0, f"{triage.out}\n")
    report = triage.report()
    assert (report["verdict"]["stage"], report["verdict"]["symptom"]) == ("inductor", "exception")
    assert (report["verdict"]["runs"], report["verdict"]["failures"]) == (2, 2)
    assert report["signature"]["exception_type"] == "InvalidCxxCompiler"
    assert [row["outcome"] for row in report["ladder"]] == ["ok", "ok", "ok", "ok", "exception"]
    assert report["environment"]["torch"] and report["collect_env"]
    assert report["known_cause"]["id"] == "no_cxx_compiler" and "triage doctor" in report["known_cause"]["cure"]
    again = triage("report", "a dir/out")
    assert again.returncode == 0 and "InvalidCxxCompiler" in again.stdout


# -- limits and interrupts ----------------------------------------------------------------------------------------------


def test_a_script_that_never_compiles(triage: Command) -> None:
    triage.script("print('done')\n")
    done = triage("run", "--json", "--out", "out", "train.py")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report == triage.report()
    assert (report["verdict"]["stage"], report["verdict"]["symptom"], report["complete"]) == ("none", "none", True)
    assert "never calls torch.compile" in report["verdict"]["summary"]


def test_a_script_that_fails_uncompiled_too(triage: Command) -> None:
    triage.script(FAILS_UNCOMPILED)
    done = triage("run", "--out", "out", "train.py")
    assert done.returncode == 3 and "stage: script" in done.stdout
    report = triage.report()
    assert (report["verdict"]["stage"], report["signature"]["exception_type"]) == ("script", "ValueError")
    assert report["signature"]["user_line"].startswith("train.py:2")
    assert {row["rung"]: row["outcome"] for row in report["ladder"]}["uncompiled"] == "exception"


def test_a_hang_is_located(triage: Command) -> None:
    triage.script(HANGS_IN_DYNAMO)
    done = triage("run", "--no-reduce", "--quiet", "--timeout", "20", "--out", "out", "train.py")
    assert done.returncode == 0, done.stderr
    report = triage.report()
    assert (report["verdict"]["stage"], report["verdict"]["symptom"]) == ("dynamo", "hang")
    assert "wait" in (triage.out / "report.md").read_text()  # the stacks at the time limit say where


def test_a_script_that_never_ends(triage: Command) -> None:
    triage.script(SLEEPS)
    done = triage("run", "--quiet", "--timeout", "3", "--out", "out", "train.py")
    assert done.returncode == 3
    report = triage.report()
    assert (report["verdict"]["stage"], report["verdict"]["symptom"]) == ("script", "hang")
    assert any("--timeout" in note for note in report["notes"])


def test_the_budget_ends(triage: Command) -> None:
    triage.script(SLEEPS)
    began = time.monotonic()
    done = triage("run", "--budget", "4", "--out", "out", "train.py")
    assert done.returncode == 5 and time.monotonic() - began < 60
    report = triage.report()
    assert not report["complete"] and "budget" in report["incomplete_reason"]
    assert report["verdict"]["stage"] == "none"


def test_a_target_that_kills_its_parents_group_and_its_own(triage: Command) -> None:
    triage.script("import os\nfor group in (os.getpgid(os.getppid()), 0):\n    os.killpg(group, 9)\n")
    done = triage("run", "--quiet", "--out", "out", "train.py")
    assert done.returncode == 3, done.stderr
    assert triage.report()["verdict"]["symptom"] == "crash"


def interrupted(
    triage: Command, words: tuple[str, ...], when: str, times: int = 1
) -> "subprocess.CompletedProcess[str]":
    """ctrl-C, as a terminal sends it, once this has been told."""
    process = triage.start(*words)
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if when in line:
            break
    time.sleep(1.0)
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.3)
    out, err = process.communicate(timeout=60)
    err = "".join(lines) + err
    assert "Traceback" not in err, err
    assert process.returncode == 130, err
    assert gone(triage)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def gone(triage: Command) -> bool:
    return eventually(lambda: not left_over(triage.tag))


def eventually(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_during_the_first_probe(triage: Command, times: int) -> None:
    triage.script(SLEEPS)
    interrupted(triage, ("run", "--out", "out", "train.py"), "as_is: running", times)
    report = triage.report()
    assert (report["complete"], report["incomplete_reason"], report["verdict"]["stage"]) == (
        False,
        "interrupted",
        "none",
    )
    assert (triage.out / "logs" / "as_is.out.log").read_text() == "began\n"
    assert (triage.out / "logs" / "as_is.events.jsonl").stat().st_size > 0


def test_an_interrupt_on_the_ladder_keeps_what_was_learned(triage: Command) -> None:
    first_only = "import os\nif os.path.exists('ran'):\n    import time; time.sleep(120)\nopen('ran', 'w').close()\n"
    triage.script(first_only + FAILS_UNCOMPILED)
    interrupted(triage, ("run", "--out", "out", "train.py"), "uncompiled: running")
    report = triage.report()
    assert report["incomplete_reason"] == "interrupted" and report["signature"]["message"] == "no weights here"
    assert [row["outcome"] for row in report["ladder"]] == ["not_run", "not_run", "not_run", "not_run", "exception"]
    assert report["verdict"]["stage"] == "none" and "not settled" in report["verdict"]["summary"]


def test_when_triage_is_killed_nothing_of_the_target_stays(triage: Command) -> None:
    triage.script(SLEEPS)
    process = triage.start("run", "--quiet", "--out", "out", "train.py")
    log = triage.out / "logs" / "as_is.out.log"
    assert eventually(lambda: log.exists() and log.read_text() == "began\n", 30)
    process.kill()
    process.communicate(timeout=30)
    assert gone(triage)


def test_verify_says_whether_it_still_fails(triage: Command) -> None:
    triage.script("pass\n")
    passes = triage("verify", "--runs", "2", "train.py")
    assert (passes.returncode, passes.stdout.splitlines()[-1]) == (1, "The failure is gone: every run passes.")
    triage.script(FAILS_UNCOMPILED)
    fails = triage("verify", "--runs", "2", "train.py")
    assert fails.returncode == 1 and fails.stdout.splitlines()[-1].startswith(
        "It fails so without torch.compile as well."
    )
    refused(triage("verify", "--python", "/bin/true", "train.py"), 4, "/bin/true")


FROM_STDIN = """
import sys

import torch

rows = [float(line) for line in sys.stdin]
if rows:
    print(torch.compile(torch.relu, backend="relu_compile_error_TESTING_ONLY")(torch.tensor(rows)).sum())
"""


def test_every_probe_reads_the_standard_input(tmp_path: Path) -> None:
    command = Command(tmp_path)
    (tmp_path / "rows.txt").write_text("1.0\n-2.0\n")
    done = command("run", "--no-reduce", "--out", "out", command.script(FROM_STDIN), stdin=tmp_path / "rows.txt")
    assert done.returncode == 0, done.stderr
    report = command.report()
    assert report["verdict"]["stage"] == "backend"
    assert {row["outcome"] for row in report["ladder"]} >= {"ok", "exception"}
    assert "standard input: 9 bytes" in done.stderr
