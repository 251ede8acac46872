"""Bisecting the user's own repository: the same search and judge, with commits instead of versions of torch.

Each commit is checked out as a worktree of its own in a temporary directory, so the user's files are never touched; the
worktree comes first on PYTHONPATH, before an editable installation of the same package.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.bisect.clone import open_clone
from triage.bisect.points import Axis, Point, Ready
from triage.environments.venvs import UntestableError
from triage.errors import UsageError
from triage.model.bisection import Kind
from triage.probe.staging import SITE
from triage.probe.target import Target

MakeTarget = Callable[[Path], Target]  # from the directory that stands for the user's own to the command


def commit_axis(place: Path, good: str | None, bad: str | None, find_fix: bool) -> Axis:
    """The commits between two, oldest first, along the first parents. Raises UsageError where the ends make no sense."""
    with open_clone(place) as repository:
        if good is None or (bad is None and find_fix):
            raise UsageError(
                what="--target-repo needs a commit that is known to be good"
                + (" and one that is bad." if find_fix else "."),
                why="Without it there is no end to the history.",
                next="For example: triage bisect train.py --target-repo . --good v1.2 --bad HEAD",
            )
        ends = {"good": _commit(repository, good, "--good"), "bad": _commit(repository, bad or "HEAD", "--bad")}
        for kind, older, newer in ((Kind.REGRESSED, "good", "bad"), (Kind.FIXED, "bad", "good")):
            if ends[older] != ends[newer] and _is_ancestor(repository, ends[older], ends[newer]):
                if find_fix and kind is Kind.REGRESSED:
                    break
                listed = repository.git.rev_list("--first-parent", "--reverse", f"{ends[older]}..{ends[newer]}").split()
                if not _is_ancestor_line(listed, repository, ends[older]):
                    listed = repository.git.rev_list(
                        "--topo-order", "--ancestry-path", "--reverse", f"{ends[older]}..{ends[newer]}"
                    ).split()
                return Axis(tuple(Point(sha[:12], commit=sha) for sha in [ends[older], *listed]), kind, "commit")
    raise UsageError(
        what=f"{good} and {bad or 'HEAD'} are not the two ends of one line of history.",
        why="One must be an ancestor of the other"
        + (", the bad one of the good one with --find-fix." if find_fix else "."),
        next="Choose commits of one branch, for example: --good HEAD~50 --bad HEAD",
    )


@dataclass
class CommitBench:
    """Points are commits. `python` runs them all; `target` builds the command for a directory that stands for `cwd`."""

    repository: Path
    cwd: Path
    target: MakeTarget
    toolchain: Path | None = None
    installs: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _trees: dict[str, Path] = field(default_factory=dict)
    _stopped: bool = False

    def ready(self, point: Point) -> Ready:
        assert point.commit is not None
        with self._lock, open_clone(self.repository) as repository:
            if self._stopped:
                raise UntestableError("stopped")
            tree = Path(tempfile.mkdtemp(prefix="triage-tree-")) / "tree"
            self._trees[point.name] = tree
            _add_worktree(repository, tree, point.commit)
            root = Path(repository.working_tree_dir or self.repository).resolve()
        here = tree / self.cwd.resolve().relative_to(root) if self.cwd.resolve().is_relative_to(root) else self.cwd
        try:
            if not here.is_dir():
                raise UntestableError(f"the directory {here.relative_to(tree)} does not exist in this commit")
            target = self.target(here)
        except UsageError as error:
            self._remove(point.name)
            raise UntestableError(error.what) from error
        except UntestableError:
            self._remove(point.name)
            raise
        paths = [
            str(SITE),
            str(tree),
            *([str(tree / "src")] if (tree / "src").is_dir() else []),
            os.environ.get("PYTHONPATH", ""),
        ]
        return Ready(
            point, target, self.toolchain, point.commit, extra_env={"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        )

    def quick(self, point: Point) -> bool:
        return True

    def done(self, ready: Ready) -> None:
        self._remove(ready.point.name)

    def stop(self) -> None:
        self._stopped = True
        for name in list(self._trees):
            self._remove(name)

    def _remove(self, name: str) -> None:
        with self._lock:
            tree = self._trees.pop(name, None)
            if tree is None:
                return
            with contextlib.suppress(Exception), open_clone(self.repository) as repository:
                repository.git.worktree("remove", "--force", str(tree))
            shutil.rmtree(tree.parent, ignore_errors=True)
            with contextlib.suppress(Exception), open_clone(self.repository) as repository:
                repository.git.worktree("prune")


def _add_worktree(repository: Any, tree: Path, commit: str) -> None:
    import git

    try:
        repository.git.worktree("add", "--detach", "--force", str(tree), commit)
    except git.GitError as error:
        raise UntestableError(f"git could not check it out: {str(error).strip().splitlines()[-1]}") from error


def _commit(repository: Any, name: str, option: str) -> str:
    import git

    try:
        return str(repository.git.rev_parse("--verify", "--quiet", f"{name}^{{commit}}"))
    except git.GitError:
        raise UsageError(
            what=f"There is no commit {name} in {repository.working_tree_dir}.",
            why=f"{option} must name one: a hash, a tag, a branch.",
            next="git log --oneline lists them.",
        ) from None


def _is_ancestor(repository: Any, older: str, newer: str) -> bool:
    import git

    try:
        repository.git.merge_base("--is-ancestor", older, newer)
    except git.GitError:
        return False
    return True


def _is_ancestor_line(listed: list[str], repository: Any, older: str) -> bool:
    """Whether the first-parent line really starts at the older end (it may have come in by a merge)."""
    return bool(listed) and older in repository.git.rev_list("-1", "--parents", listed[0]).split()[1:]
