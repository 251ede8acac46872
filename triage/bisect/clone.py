"""The commits of a window: a link to compare both ends, and, with a local clone of PyTorch, what lies between them.

Releases are built from release branches, so the trunk's part of a window lies between the points where both branches left it.
A nightly's `git_version` is a commit of the branch `nightly`, whose subject names the trunk commit it was made from. The
clone is only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from triage.bisect.suspects import Touched, ranked
from triage.errors import UsageError
from triage.model.bisection import CommitWindow

if TYPE_CHECKING:
    import git

PYTORCH = "https://github.com/pytorch/pytorch"
_NIGHTLY = re.compile(r"nightly release \(([0-9a-f]{7,40})\)")
_TRUNKS = ("origin/main", "upstream/main", "main", "origin/master", "master")
_SECONDS = 300


def compare_url(before: str, after: str) -> str:
    """The page that lists the commits between two."""
    return f"{PYTORCH}/compare/{before}...{after}"


def bare_window(before: str | None, after: str | None) -> CommitWindow | None:
    """The window without a clone; None where a build does not say its commit."""
    return CommitWindow(before, after, compare_url(before, after)) if before and after else None


def window_in_clone(
    clone: Path, before: str, after: str, frames: Sequence[str], stage: str | None, operator: str | None
) -> CommitWindow:
    """The window with its commits, most suspect first. What the clone lacks is said in the window's note."""
    bare = CommitWindow(before, after, compare_url(before, after))
    with open_clone(clone) as repository:
        missing = [sha for sha in (before, after) if not _has(repository, sha)]
        if missing:
            lacking = ", ".join(sha[:12] for sha in missing)
            note = f"The clone {clone} does not have {lacking}; run `git fetch --all --tags` in it."
            return CommitWindow(before, after, bare.url, note=note)
        ends = [_trunk_commit(repository, sha) for sha in (before, after)]
        if ends[0] == ends[1]:  # two builds of one release branch
            ends = [before, after]
        commits = list(_commits(repository, f"{ends[0]}..{ends[1]}"))
        branched = ends[1] != after and _nightly_source(repository, after) is None
        picked = list(_commits(repository, f"{ends[1]}..{after}")) if branched else []
    notes = [] if [before, after] == ends else [f"On the trunk: {ends[0][:12]} to {ends[1][:12]}."]
    if picked:
        notes.append(f"{len(picked)} commits were made on the newer release branch itself.")
    everything = [*commits, *picked]
    suspects = tuple(ranked(everything, frames, stage, operator))
    return CommitWindow(before, after, bare.url, len(everything), suspects, " ".join(notes) or None)


def open_clone(place: Path) -> git.Repo:
    """The repository at, or around, a directory. Raises UsageError where there is none."""
    try:
        import git
    except ImportError as error:  # GitPython looks for the git executable when it is imported
        raise UsageError(
            what="git cannot be used.", why=str(error), next="Install git, or leave the repository options out."
        ) from error
    try:
        return git.Repo(place, search_parent_directories=True)
    except (git.GitError, OSError, ValueError) as error:
        raise UsageError(
            what=f"{place} is not a git repository that can be read.",
            why=f"{type(error).__name__}: {error}",
            next="Give the directory of a clone.",
        ) from error


def _has(repository: git.Repo, sha: str) -> bool:
    import git

    try:
        repository.git.cat_file("-e", f"{sha}^{{commit}}")
    except git.GitError:
        return False
    return True


def _trunk_commit(repository: git.Repo, sha: str) -> str:
    """The commit of the trunk that a build was made from, or that its release branch left the trunk at."""
    import git

    source = _nightly_source(repository, sha)
    if source is not None:
        return source
    for trunk in _TRUNKS:
        try:
            return str(repository.git.merge_base(sha, trunk)).strip() or sha
        except git.GitError:
            continue
    return sha


def _nightly_source(repository: git.Repo, sha: str) -> str | None:
    """The trunk commit that the subject of a nightly's commit names."""
    named = _NIGHTLY.search(repository.git.log("-1", "--format=%s", sha))
    if named is None or not _has(repository, named[1]):
        return None
    return str(repository.git.rev_parse(named[1]))


def _commits(repository: git.Repo, window: str) -> Iterable[Touched]:
    text = repository.git.log(
        "--no-merges", "--format=%x01%H%x02%s", "--name-only", window, kill_after_timeout=_SECONDS
    )
    for entry in text.split("\x01")[1:]:
        head, *files = entry.splitlines()
        sha, _, subject = head.partition("\x02")
        yield Touched(sha, subject, tuple(file for file in files if file))
