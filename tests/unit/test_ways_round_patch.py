"""The patch is taken by `git apply` and by `patch -p1`, and gives the bytes that were run."""

import shutil
import subprocess
from pathlib import Path

import pytest

from triage.culprit.ways_round.patch import patch_of, root_of

CASES = {
    "plain": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "no line break at the end": (b"a\nb", b"a\nb\nc"),
    "a line break more": (b"a\nb", b"a\nb\n"),
    "CRLF": (b"a\r\nb\r\nc\r\n", b"a\r\nx\r\nb\r\nc\r\n"),
    "latin-1": (b"# caf\xe9\na\n", b"# caf\xe9\nb\n"),
    "form feed and bare CR": (b"a\x0c\nb\rc\nd\n", b"a\x0c\nb\rc\ne\n"),
}
NAMES = ["train.py", "pkg/deep/net.py", "a name with spaces.py", "träin.py", 'quo"ted.py']


def git(*words: str, cwd: Path) -> None:
    subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", CASES)
def test_git_takes_it(case: str, name: str, tmp_path: Path):
    before, after = CASES[case]
    file = tmp_path / "repo" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(before)
    git("init", "-q", ".", cwd=tmp_path / "repo")
    (tmp_path / "w.patch").write_bytes(patch_of({file: (before, after)}, file.parent))

    git("apply", "../w.patch", cwd=tmp_path / "repo")

    assert file.read_bytes() == after


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch program")
@pytest.mark.parametrize("case", CASES)
def test_patch_takes_it_where_there_is_no_repository(case: str, tmp_path: Path):
    before, after = CASES[case]
    file = tmp_path / "src dir" / "train.py"
    file.parent.mkdir()
    file.write_bytes(before)
    patch = patch_of({file: (before, after)}, tmp_path)

    subprocess.run(["patch", "--binary", "-p1"], cwd=tmp_path, input=patch, check=True, capture_output=True)

    assert file.read_bytes() == after


def test_two_files_in_one_patch(tmp_path: Path):
    files = {tmp_path / name: (b"a\n", b"b\n") for name in ("one.py", "two.py")}
    for path in files:
        path.write_bytes(b"a\n")
    git("init", "-q", ".", cwd=tmp_path)
    (tmp_path / "w.patch").write_bytes(patch_of(files, tmp_path))

    git("apply", "w.patch", cwd=tmp_path)

    assert [path.read_bytes() for path in files] == [b"b\n", b"b\n"]


def test_paths_begin_at_the_repository_and_else_where_the_command_was_typed(tmp_path: Path):
    inner = tmp_path / "repo" / "src"
    inner.mkdir(parents=True)
    assert root_of(inner / "train.py", tmp_path / "repo") == tmp_path / "repo"
    assert root_of(inner / "train.py", tmp_path / "elsewhere") == inner
    (tmp_path / "repo" / ".git").write_text("gitdir: /elsewhere\n")  # a worktree
    assert root_of(inner / "train.py", inner) == tmp_path / "repo"
