"""A sweep over scripts of mixed fate: killed in the middle, gone on with, compared with itself."""

import json
import os
import signal
from pathlib import Path

import pytest
from command import Command, nobody_left
from swept_programs import FLAKY, LERP, MISSING, PASSES

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("sweep")]

OLDER = "import torch\nraise RuntimeError('a bug that the newer one does not have')\n"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Killed as soon as a first script was screened, then gone on with."""
    command = Command(tmp_path_factory.mktemp("sweep"))
    (command.folder / "models").mkdir()
    for name, text in {
        "fine": PASSES,
        "lerp": LERP.format(weight="0.3 + 0.2j", rows=4),
        "mixer": LERP.format(weight="0.9j", rows=2),
        "missing": MISSING,
    }.items():
        command.script(text, f"models/{name}.py")
    begun = command.start("sweep", "models", "--out", "out", "--timeout", "120")
    assert begun.stderr is not None
    for line in begun.stderr:
        if "1/4" in line:
            break
    os.kill(begun.pid, signal.SIGKILL)
    begun.communicate()
    nobody_left(command.tag)
    done = command("sweep", "--resume", "out", "--timeout", "120")
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("1/4") == 0  # what was screened is not screened again
    return command


def found(command: Command) -> dict:
    told: dict = json.loads((command.out / "sweep.json").read_text())
    return told


def test_each_script_has_its_fate(swept: Command) -> None:
    fates = {each["script"]: (each["fate"], each["stage"]) for each in found(swept)["results"]}
    assert fates == {
        "models/fine.py": ("passes", "none"),
        "models/lerp.py": ("fails", "decomp_partition"),
        "models/mixer.py": ("fails", "decomp_partition"),
        "models/missing.py": ("script", "script"),
    }


def test_one_bug_with_two_faces_has_one_verified_reproducer(swept: Command) -> None:
    told = found(swept)
    (cluster,) = told["clusters"]
    assert cluster["members"] == ["models/lerp.py", "models/mixer.py"]
    assert cluster["op"] == "aten.lerp"
    assert (swept.out / cluster["reproducer"]).is_file()
    assert (swept.out / cluster["representative"] / "report.html").is_file()
    one = {each["script"]: each["inherited"] for each in told["results"] if each["cluster"]}
    assert sorted(one.values()) == [False, True]
    assert told["complete"]
    assert (told["scripts"], told["failing"]) == (4, 2)


def test_its_files_are_written_for_every_reader(swept: Command) -> None:
    for name in ("sweep.html", "sweep.md", "junit.xml", "sweep.sqlite"):
        assert (swept.out / name).stat().st_size > 100, name


def test_against_an_earlier_one_only_what_is_new_counts(swept: Command) -> None:
    (swept.folder / "models/missing.py").write_text(PASSES)
    (swept.folder / "models/fine.py").write_text(OLDER)
    earlier = swept.out.rename(swept.folder / "earlier")
    done = swept("sweep", "models/fine.py", "models/missing.py", "--out", "out", "--against", str(earlier))
    against = found(swept)["against"]
    assert done.returncode == 1
    assert (against["new"], against["fixed"]) == (["models/fine.py"], ["models/missing.py"])
    assert against["only_there"] == ["models/lerp.py", "models/mixer.py"]


def test_a_script_that_is_said_to_be_flaky_is_run_more_than_once(tmp_path: Path) -> None:
    command = Command(tmp_path)
    command.script(FLAKY, "lucky.py")
    (tmp_path / "sweep.toml").write_text('[[script]]\npath = "lucky.py"\n')
    assert command("sweep", "sweep.toml", "--out", "out").returncode == 0
    assert found(command)["results"][0]["fate"] == "passes"  # as nobody says so, it is asked once
    (tmp_path / "runs").unlink()
    (tmp_path / "sweep.toml").write_text('flaky = true\n[[script]]\npath = "lucky.py"\n')
    assert command("sweep", "sweep.toml", "--out", "again", "--budget", "60").returncode == 1
    command.out = tmp_path / "again"
    (result,) = found(command)["results"]
    assert result["fate"] == "flaky"
    assert [each["members"] for each in found(command)["clusters"]] == [["lucky.py"]]


@pytest.mark.parametrize(
    "words",
    [
        ("sweep",),
        ("sweep", "nothing-there"),
        ("sweep", "models", "--engine", "abacus"),
        ("sweep", "models", "--against", "nothing-there"),
        ("sweep", "--resume", "nothing-there"),
        ("sweep", "models", "--resume", "earlier"),
    ],
)
@pytest.mark.quick
def test_what_cannot_be_swept_is_told_and_leaves_nothing(words: tuple[str, ...], tmp_path: Path) -> None:
    command = Command(tmp_path)
    (tmp_path / "models").mkdir()
    command.script(PASSES, "models/fine.py")
    done = command(*words)
    assert done.returncode == 2
    assert "why:" in done.stderr
    assert "next:" in done.stderr
    assert not (tmp_path / "triage-out").exists()
