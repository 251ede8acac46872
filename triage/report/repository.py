"""The state of the git repository that the failing script lies in.

Never writes, not even git's own refresh of its index, and starts no file-system monitor. What cannot be read safely (no git,
no repository, a bare one, one without a commit, one that belongs to somebody else) is None.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from triage.model.report import RepositoryState

if TYPE_CHECKING:
    import git

_SECONDS = 20
LOCAL = "<a local path>"
_WINDOWS_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def repository_state(path: Path) -> RepositoryState | None:
    """The repository around `path` (a file or a directory), or None. Untracked files do not make it dirty."""
    place = path if path.is_dir() else path.parent
    if not place.is_dir():
        return None
    try:
        import git
    except ImportError:  # GitPython itself, or the git executable it looks for when imported
        return None
    # git's own errors derive from GitError; reading a damaged repository raises ValueError, KeyError, TypeError or OSError.
    try:
        with git.Repo(place, search_parent_directories=True) as repository:
            return _state(repository)
    except (git.GitError, ValueError, KeyError, TypeError, OSError):
        return None


def _state(repository: git.Repo) -> RepositoryState | None:
    if repository.bare or not repository.head.is_valid():
        return None
    # `git status` first: git refuses it where the ownership is unsafe, and nothing has been read until then.
    with repository.git.custom_environment(GIT_OPTIONAL_LOCKS="0"):
        changes = repository.git.execute(
            ["git", "-c", "core.fsmonitor=false", "status", "--porcelain", "--untracked-files=no"],
            kill_after_timeout=_SECONDS,
        )
    remotes = {remote.name: remote for remote in repository.remotes}
    remote = remotes.get("origin") or next(iter(remotes.values()), None)
    return RepositoryState(
        commit=repository.head.commit.hexsha,
        branch=None if repository.head.is_detached else repository.active_branch.name,
        dirty=bool(changes),
        remote=without_credentials(remote.url) if remote is not None else None,
    )


def without_credentials(url: str) -> str:
    """An address of a git remote without login, query or fragment: `https://u:p@host/x?t=1` and `u@host:x` alike.

    A directory of this machine tells nobody else anything but how it is laid out.
    """
    if url.startswith("file://") or ("://" not in url and ":" not in url.split("/")[0]) or _WINDOWS_DRIVE.match(url):
        return LOCAL
    if "://" not in url:
        login, at, rest = url.rpartition("@")
        return rest if at and login != "git" and ":" in rest else url
    parts = urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, f"git@{host}" if at and login == "git" else host, parts.path, "", ""))
