"""The surroundings of one probe: a private directory for temporary files and compiler caches, and the environment.

Every probe starts with an empty Inductor cache, because a warm one can hide a failure (the AOTAutograd cache skips the
compile that fails); caches are not switched off, because some failures exist only with them. Only the *neutral* parts of
the cache, those that say nothing about the user's graphs (the C++ instruction-set checks and precompiled headers, which
cost 8 s each time), are carried over from one probe to the next; and, within one run, libraries of kernels, by the text that
they were built from (`agent/hooks/built_kernels.py`).
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

AGENT = Path(__file__).parent.parent / "agent"
SITE = AGENT / "site"

# Variables that would change what a probe sees or does, and that the person did not set for the failing run's sake.
POISONOUS = (
    "TORCHDYNAMO_REPRO_AFTER", "TORCHDYNAMO_REPRO_LEVEL", "TORCH_COMPILE_DEBUG", "TORCH_TRACE", "TORCH_LOGS",
    "TORCH_LOGS_OUT", "TORCH_LOGS_FORMAT", "TORCH_COMPILE_BACKEND", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE",
    "TORCHDYNAMO_SUPPRESS_ERRORS", "TORCH_BISECT_BACKEND", "TORCH_BISECT_SUBSYSTEM", "TORCH_BISECT_MAX",
    "TORCH_COMPILE_OVERRIDE_BACKENDS", "PYTHONSTARTUP", "PYTHONINSPECT",
)  # fmt: skip
KEPT_WHEN_SET = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "TORCHDYNAMO_SUPPRESS_ERRORS")
# Present in every torch from 2.1 on; an unknown name would be an error at import.
LOGS = "dynamo,aot,inductor,graph_breaks,recompiles"
_KERNEL = re.compile(r"\b(?:kernel|cpp_fused\w*|call)\s*\(")  # a compiled graph of the user's
NEUTRAL_LIMIT = 256 * 1024 * 1024
HEADERS_LIMIT = 1024 * 1024 * 1024
HEADERS_SECONDS = 24 * 3600.0  # younger ones are kept: another run may be about to read them


@dataclass(frozen=True)
class Stage:
    """The private directory of one probe. It lies under the system's temporary directory: paths there are short."""

    root: Path

    @property
    def channel(self) -> Path:
        return self.root / "channel"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    def remove(self) -> None:
        """Delete it, also what the target made read-only."""

        def force(function: object, path: str, _info: object) -> None:
            with contextlib.suppress(OSError):
                Path(path).parent.chmod(0o700)
                Path(path).unlink()

        shutil.rmtree(self.root, onerror=force)


def make_stage(neutral: Path | None) -> Stage:
    """A new directory with `channel`, `cache` (seeded from the `neutral` store) and `tmp`."""
    stage = Stage(Path(tempfile.mkdtemp(prefix="triage-")))
    for part in (stage.channel, stage.cache, stage.tmp):
        part.mkdir()
    if neutral is not None:
        _share_headers(stage, neutral)
        if neutral.is_dir():
            _link_tree(neutral, stage.cache)
    return stage


def _share_headers(stage: Stage, neutral: Path) -> None:
    """Since 2.8 torch keeps its precompiled headers below the temporary directory, not in the cache (codecache._HEADER_DIR).

    Their names hold a hash of all that went into them and torch locks the directory, so probes may share it as it is.
    """
    with contextlib.suppress(OSError, KeyError, ImportError):
        store = _headers_of(neutral)
        # As torch/_inductor/runtime/cache_dir_utils.py names it.
        place = stage.tmp / ("torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser()))
        place.mkdir()
        (place / "precompiled_headers").symlink_to(store.absolute())


def shared_with_forks(neutral: Path) -> Path:
    """The store of a warm interpreter beside that of the probes; they have the precompiled headers in common."""
    store = neutral.with_name(neutral.name + "-fork")
    with contextlib.suppress(OSError):
        store.mkdir(parents=True, exist_ok=True)
        (store / "headers").symlink_to(_headers_of(neutral).absolute())
    return store


def knows_instructions(neutral: Path) -> bool:
    """Whether some torch has found out in an earlier run which vector instructions work here (`agent/hooks/shared_cache`)."""
    return any(shared_with_forks(neutral).glob("isa-*.json"))


def _headers_of(neutral: Path) -> Path:
    """The store of precompiled headers."""
    store = neutral.with_name(neutral.name + "-headers")
    store.mkdir(parents=True, exist_ok=True)
    return store


def prune_headers(neutral: Path) -> None:
    """They have 150 MB each: the oldest go once there are too many, but none that may be in use. Once per run is enough."""
    left = HEADERS_LIMIT
    for made, size, path in sorted(_with_facts(_headers_of(neutral).glob("*.gch")), reverse=True):
        left -= size
        if left < 0 and time.time() - made > HEADERS_SECONDS:
            for each in (path.with_suffix(""), path):  # others remove them too, or were ended halfway
                each.unlink(missing_ok=True)


def _with_facts(paths: Iterable[Path]) -> Iterator[tuple[float, int, Path]]:
    """(time, size, path) of the files that are still there."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            facts = path.stat()
            yield facts.st_mtime, facts.st_size, path


def harvest_neutral(stage: Stage, neutral: Path | None) -> None:
    """Keep the neutral parts of a finished probe's cache for the next one."""
    if neutral is None:
        return
    with contextlib.suppress(OSError):
        for source in _neutral_files(stage.cache):
            goal = neutral / source.relative_to(stage.cache)
            if not goal.exists() and source.stat().st_size < NEUTRAL_LIMIT:
                goal.parent.mkdir(parents=True, exist_ok=True)
                part = goal.with_name(goal.name + f".{os.getpid()}.part")
                shutil.copy2(source, part)
                part.replace(goal)


def _neutral_files(cache: Path) -> list[Path]:
    """Instruction-set checks (small C++ files without `main` in their name, with their library) and precompiled headers."""
    found = [path for path in cache.glob("precompiled_headers/**/*") if path.is_file()]
    for library in cache.glob("??/*.so"):
        source = library.with_suffix(".cpp")
        if ".main" in library.name or not source.is_file():
            continue
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = source.read_text()
            if len(text) < 1500 and not _KERNEL.search(text):
                found += [library, source]
    return found


def _link_tree(source: Path, goal: Path) -> None:
    for path in source.rglob("*"):
        if path.is_file() and not path.name.endswith(".part"):
            place = goal / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            # Copied, not linked: a target may write into its cache.
            with contextlib.suppress(OSError):
                shutil.copy2(path, place)


def environment(
    base: Mapping[str, str], stage: Stage, agent: Mapping[str, object], *, trace: Path | None, extra: Mapping[str, str]
) -> dict[str, str]:
    """The environment of a probe. `agent` is the agent's config (it gets the channel); `extra` wins over everything."""
    env = {
        name: value
        for name, value in base.items()
        if (name not in POISONOUS or (name in KEPT_WHEN_SET and value not in ("", "0")))
        and not name.startswith("TRIAGE_")
    }
    env["PYTHONPATH"] = os.pathsep.join([str(SITE), *filter(None, [env.get("PYTHONPATH")])])
    env["TRIAGE_AGENT"] = json.dumps({**agent, "channel": str(stage.channel)})
    env["TMPDIR"] = env["TEMP"] = env["TMP"] = str(stage.tmp)
    env["TORCHINDUCTOR_CACHE_DIR"] = str(stage.cache)
    env["TRITON_CACHE_DIR"] = str(stage.cache / "triton")
    env["TORCH_COMPILE_DEBUG_DIR"] = str(stage.tmp)  # for a program that asks for those files itself
    env["PYTHONDONTWRITEBYTECODE"] = "1"  # the user's directories stay as they are
    env["PYTHONUNBUFFERED"] = "1"  # what a dying program printed is not lost
    env["TORCHDYNAMO_VERBOSE"] = "1"
    env["TORCH_LOGS"] = ",".join(filter(None, [base.get("TORCH_LOGS", ""), LOGS]))
    if trace is not None:
        env["TORCH_TRACE"] = str(trace)
    env.update(extra)
    return env
