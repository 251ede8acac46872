"""What a sweep runs: folders, patterns, lists and settings as jobs."""

import json
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.sweep.jobs import find_jobs


def written(folder: Path, *names: str, text: str = "print()\n") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_folder_gives_its_programs_and_nothing_else(tmp_path: Path) -> None:
    written(tmp_path, "models/a.py", "models/deep/b.py", "models/__init__.py", "models/conftest.py", "models/notes.md")
    written(tmp_path, "models/venv/lib/c.py", "models/venv/pyvenv.cfg", "models/.git/d.py", "models/triage-out/e.py")
    (tmp_path / "models/again").symlink_to(tmp_path / "models")
    assert [job.name for job in find_jobs(["models"], tmp_path)] == ["models/a.py", "models/deep/b.py"]


def test_what_pytest_collects_is_run_by_pytest(tmp_path: Path) -> None:
    written(tmp_path, "tests/test_step.py", "tests/step_test.py", "tests/contest.py")
    words = {job.name: job.words for job in find_jobs(["tests", "tests/test_step.py::test_one"], tmp_path)}
    assert words["tests/test_step.py"] == ("--", "pytest", "tests/test_step.py")
    assert words["tests/step_test.py"] == ("--", "pytest", "tests/step_test.py")
    assert words["tests/contest.py"] == ("tests/contest.py",)
    assert words["tests/test_step.py::test_one"] == ("--", "pytest", "tests/test_step.py::test_one")


def test_a_case_is_run_in_its_folder_with_its_arguments(tmp_path: Path) -> None:
    written(tmp_path, "cases/one/script.py", "cases/one/lib.py", "cases/two/script.py")
    (tmp_path / "cases/one/case.json").write_text(json.dumps({"args": ["--steps", 2]}))
    (tmp_path / "cases/two/case.json").write_text(json.dumps({"command": ["python", "script.py"]}))
    one, two = find_jobs(["cases"], tmp_path)
    assert (one.name, one.words, one.cwd) == ("cases/one", ("script.py", "--steps", "2"), tmp_path / "cases/one")
    assert [file.name for file in one.files] == ["lib.py", "script.py"]
    assert two.words == ("--", "python", "script.py")


def test_each_job_once_and_each_name_once(tmp_path: Path) -> None:
    written(tmp_path, "a.py", "b.py")
    (tmp_path / "all.txt").write_text("# models\na.py --wide\na.py --deep 2  # the deep one\n\nb.py\n")
    jobs = find_jobs(["b.py", "*.py", "all.txt"], tmp_path)
    assert [job.name for job in jobs] == ["b.py", "a.py", "a.py --wide", "a.py --deep 2"]
    assert len({job.directory for job in jobs}) == 4


def test_a_list_is_relative_to_its_own_folder(tmp_path: Path) -> None:
    written(tmp_path, "models/a.py")
    (tmp_path / "models/all.txt").write_text("a.py 1\n")
    (job,) = find_jobs(["models/all.txt"], tmp_path)
    assert (job.words, job.cwd) == (("a.py", "1"), tmp_path / "models")


def test_settings_name_commands_interpreters_and_folders(tmp_path: Path) -> None:
    written(tmp_path, "models/a.py", "train.py")
    (tmp_path / "sweep.toml").write_text(
        """
        python = "old/bin/python"
        [[script]]
        path = "models/a.py"
        args = ["--n", 3]
        python = "new/bin/python"
        [[script]]
        name = "two ranks"
        command = ["torchrun", "--nproc-per-node", "2", "train.py"]
        flaky = true
        """
    )
    one, two = find_jobs(["sweep.toml"], tmp_path)
    assert (one.words, one.python) == (("models/a.py", "--n", "3"), "new/bin/python")
    assert (two.name, two.python, two.files) == ("two ranks", "old/bin/python", (tmp_path / "train.py",))
    assert two.words == ("--", "torchrun", "--nproc-per-node", "2", "train.py")
    assert (one.flaky, two.flaky) == (False, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[script]]\nargs = []", "path or a command"),
        ('[[script]]\npath = "a.py"\ncolour = 1', "no key colour"),
        ("script = 3", "[[script]]"),
        ("[[script]", "Expected"),
    ],
)
def test_settings_that_mean_nothing_are_told(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "sweep.toml").write_text(text)
    with pytest.raises(UsageError) as told:
        find_jobs(["sweep.toml"], tmp_path)
    assert says in str(told.value)


@pytest.mark.parametrize("word", ["nothing.py", "nowhere/", "*.nothing", "gone.py::test_one"])
def test_what_is_not_there_is_told(tmp_path: Path, word: str) -> None:
    with pytest.raises(UsageError):
        find_jobs([word], tmp_path)


def test_a_digest_changes_with_what_decides_the_outcome(tmp_path: Path) -> None:
    written(tmp_path, "a.py")
    (job,) = find_jobs(["a.py"], tmp_path)
    before = job.digest("python")
    assert job.digest("python") == before
    assert job.digest("another python") != before
    written(tmp_path, "a.py", text="print(1)\n")
    assert job.digest("python") != before
