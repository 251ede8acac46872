"""Names that the user's program defines: what is sent out into the world must not have them."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from triage.judge.signature import is_user_frame
from triage.locate.conclude import Conclusion
from triage.stories.findings import Findings

_WORD = re.compile(r"\w+")
_DEFINED = re.compile(r"(?m)^\s*(?:async )?(?:def|class)[ \t]+(\w+)")


def own_names(found: Findings, conclusion: Conclusion) -> frozenset[str]:
    """Words of the command, functions and classes of the script, and of the files that the error came through."""
    names = {part for word in found.command for part in _WORD.findall(word)}
    error = conclusion.outcome.exception if conclusion.outcome is not None else None
    levels = (error, error.innermost()) if error is not None else ()
    frames = [frame for level in levels for frame in (*level.user_code, *level.frames) if is_user_frame(frame)]
    names |= {name for frame in frames for name in (frame.function, Path(frame.file).stem)}
    files = {Path(frame.file) for frame in frames} | ({found.target.script} if found.target.script else set())
    for file in files:
        with contextlib.suppress(OSError):
            names |= set(_DEFINED.findall(file.read_text(encoding="utf-8", errors="replace")))
    return frozenset(names)
