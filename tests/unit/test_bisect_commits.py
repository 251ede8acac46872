"""Commits: ranked by what they touch, read from a real clone, checked out side by side without touching the user's files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from triage.bisect.clone import bare_window, compare_url, window_in_clone
from triage.bisect.suspects import Touched, ranked
from triage.bisect.worktrees import CommitBench, commit_axis
from triage.environments.venvs import UntestableError
from triage.errors import UsageError
from triage.model.bisection import Kind
from triage.probe.target import make_target

FRAMES = ("torch/_inductor/lowering.py:embedding", "torch/_inductor/graph.py:call_function")


def test_the_commit_that_touches_the_innermost_file_comes_first():
    commits = [
        Touched("a", "Update docs", ("docs/index.md",)),
        Touched("b", "[inductor] tidy", ("torch/_inductor/codegen/cpp.py",)),
        Touched("c", "[inductor] sparse embedding", ("torch/_inductor/lowering.py", "test/inductor/test_torchinductor.py")),
        Touched("d", "Reformat everything", (*(f"x{number}.py" for number in range(900)), "torch/_inductor/lowering.py")),
    ]  # fmt: skip
    found = ranked(commits, FRAMES, None, "aten.embedding.default")
    assert [commit.sha for commit in found][:1] == ["c"]
    assert {commit.sha for commit in found} == {"b", "c", "d"}
    assert "changes torch/_inductor/lowering.py" in found[0].why
    assert "names embedding" in found[0].why


def test_the_stage_ranks_where_there_are_no_frames():
    commits = [
        Touched("a", "x", ("torch/_functorch/aot_autograd.py",)),
        Touched("b", "y", ("torch/nn/modules/linear.py",)),
    ]
    assert [commit.sha for commit in ranked(commits, (), "aot_autograd", None)] == ["a"]
    assert ranked(commits, (), None, None) == []


def git(place: Path, *words: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    names = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *names, *words], cwd=place, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(place: Path, file: str, text: str, subject: str) -> str:
    (place / file).parent.mkdir(parents=True, exist_ok=True)
    (place / file).write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", subject)
    return git(place, "rev-parse", "HEAD")


@pytest.fixture
def pytorch(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A trunk with two release branches and a branch of nightlies."""
    place = tmp_path / "pytorch"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    found = {"base": commit(place, "torch/a.py", "1", "first")}
    git(place, "checkout", "-q", "-b", "release/2.8")
    found["2.8.0"] = commit(place, "version.txt", "2.8.0", "release 2.8")
    git(place, "checkout", "-q", "main")
    found["guilty"] = commit(place, "torch/_inductor/lowering.py", "1", "[inductor] new lowering of embedding")
    found["other"] = commit(place, "docs/x.md", "1", "docs")
    git(place, "checkout", "-q", "-b", "release/2.9")
    found["2.9.0"] = commit(place, "version.txt", "2.9.0", "release 2.9")
    git(place, "checkout", "-q", "main")
    found["later"] = commit(place, "torch/b.py", "1", "later")
    git(place, "checkout", "-q", "--orphan", "nightly")
    found["nightly"] = commit(place, "version.txt", "n", f"2025-07-02 nightly release ({found['other']})")
    git(place, "checkout", "-q", "main")
    return place, found


def test_the_window_of_two_releases_is_the_trunk_between_their_branches(pytorch):
    place, sha = pytorch
    window = window_in_clone(place, sha["2.8.0"], sha["2.9.0"], FRAMES, "inductor", "aten.embedding.default")
    assert [commit.sha for commit in window.commits] == [sha["guilty"]]
    assert window.total == 3
    assert window.url == compare_url(sha["2.8.0"], sha["2.9.0"])
    assert window.note == (
        f"On the trunk: {sha['base'][:12]} to {sha['other'][:12]}. 1 commits were made on the newer release branch itself."
    )


def test_a_nightly_stands_for_the_trunk_commit_it_was_made_from(pytorch):
    place, sha = pytorch
    window = window_in_clone(place, sha["base"], sha["nightly"], FRAMES, "inductor", None)
    assert f"to {sha['other'][:12]}" in (window.note or "")
    assert [commit.sha for commit in window.commits] == [sha["guilty"]]
    assert window.total == 2


def test_a_clone_that_lacks_a_commit_says_what_to_do(pytorch):
    place, sha = pytorch
    window = window_in_clone(place, sha["base"], "f" * 40, (), None, None)
    assert "git fetch" in (window.note or "")
    with pytest.raises(UsageError, match="is not a git repository"):
        window_in_clone(place.parent, sha["base"], sha["2.9.0"], (), None, None)


def test_builds_that_do_not_tell_their_commit_have_no_window():
    assert bare_window(None, "abc") is None


# -- the user's own repository --------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> tuple[Path, list[str]]:
    place = tmp_path / "project"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    shas = [commit(place, "README", "no script yet", "start")]
    shas += [commit(place, "scripts/train.py", f"print({number})", f"step {number}") for number in range(4)]
    git(place, "checkout", "-q", "-b", "side", shas[1])
    commit(place, "side.txt", "1", "on a side")
    git(place, "checkout", "-q", "main")
    git(place, "merge", "-q", "--no-ff", "-m", "merge", "side")
    return place, [*shas, git(place, "rev-parse", "HEAD")]


def test_commits_between_two_are_an_axis(project):
    place, shas = project
    axis = commit_axis(place, shas[1], None, False)
    assert [point.commit for point in axis.points] == shas[1:]
    assert (axis.kind, axis.unit) == (Kind.REGRESSED, "commit")
    assert commit_axis(place, "HEAD", shas[2], True).kind is Kind.FIXED


@pytest.mark.parametrize(
    ("good", "bad", "find_fix", "says"),
    [
        (None, "HEAD", False, "needs a commit that is known to be good"),
        ("nonsense", "HEAD", False, "no commit nonsense"),
        ("HEAD", "HEAD", False, "not the two ends of one line"),
        ("HEAD~2", "HEAD", True, "not the two ends of one line"),
    ],
)
def test_commits_that_are_no_ends_are_told(project, good, bad, find_fix, says):
    with pytest.raises(UsageError, match=says):
        commit_axis(project[0], good, bad, find_fix)


def test_each_commit_is_a_worktree_and_the_users_files_stay(project):
    place, shas = project
    (place / "scripts" / "train.py").write_text("print('not committed')")
    here = place / "scripts"
    axis = commit_axis(place, shas[0], "HEAD", False)

    def target(cwd: Path):
        return make_target(["train.py"], module=None, raw=False, python="python", cwd=cwd)

    bench = CommitBench(place, here, target)
    first, second = axis.points[0], axis.points[2]
    with pytest.raises(UntestableError, match="scripts does not exist in this commit"):
        bench.ready(first)
    ready = bench.ready(second)
    assert ready.target.script.read_text() == "print(1)"
    assert ready.git_version == second.commit
    tree = ready.target.cwd.parent
    assert str(tree) in ready.extra_env["PYTHONPATH"].split(os.pathsep)
    bench.done(ready)
    assert not tree.exists()
    assert git(place, "worktree", "list").count("\n") == 0
    assert (here / "train.py").read_text() == "print('not committed')"
    assert git(place, "rev-parse", "--abbrev-ref", "HEAD") == "main"


def test_a_stopped_bench_leaves_no_worktree(project):
    place, shas = project
    axis = commit_axis(place, shas[1], "HEAD", False)
    bench = CommitBench(
        place, place, lambda cwd: make_target(["scripts/train.py"], module=None, raw=False, python="p", cwd=cwd)
    )
    ready = bench.ready(axis.points[0])
    bench.stop()
    assert not ready.target.cwd.exists()
    with pytest.raises(UntestableError, match="stopped"):
        bench.ready(axis.points[0])
