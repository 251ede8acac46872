"""One sentence of what to do about a graph break: torch's own hint that fits, ours where none of its hints does.

Torch words its hints for a kind of break, not for the line that caused it: a tensor assertion is told as a branch, a print as
a builtin that nothing is known of. A row is added here and nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from triage.explain.cures import TriedSetting

_GENERAL = re.compile(
    r"report an issue|is fundamental|may be fixed|earlier graph break|may have been caused|^Note: ", re.IGNORECASE
)
_SETTING = re.compile(r"torch\._dynamo\.config\.(\w+) ?= ?True")
_CALLED = re.compile(r"\b(print|warnings\.warn)\(")


@dataclass(frozen=True)
class Advice:
    """`line` and `reason` are patterns that must both be found; `hint` picks one of torch's, `text` is ours."""

    line: re.Pattern[str]
    reason: re.Pattern[str]
    hint: re.Pattern[str] | None = None
    text: str = ""


ANY = re.compile("")
TABLE: tuple[Advice, ...] = (
    Advice(
        re.compile(r"^assert\b"),
        re.compile(r"branch|jump|assert", re.IGNORECASE),
        text="Give the assertion a plain string as its message, or none: then it becomes part of the graph. Or check outside of "
        "the compiled function (`if not torch.compiler.is_compiling():`).",
    ),
    Advice(
        re.compile(r"^(?:if|elif|while)\b"),
        re.compile(r"branch", re.IGNORECASE),
        re.compile(r"`torch.cond`"),
        "Use torch.where, or torch.cond, in the place of a branch that the values of a tensor decide.",
    ),
    Advice(
        re.compile(r"\bprint\("),
        re.compile(r"can't actually be reordered"),
        text="Print tensors, numbers and strings alone, without keywords: only those can be printed after the graph. "
        "Or take it out.",
    ),
    Advice(
        re.compile(r"\bprint\("),
        ANY,
        re.compile(r"reorderable_logging_functions"),
        "Add it to torch._dynamo.config.reorderable_logging_functions, which prints after the graph, or take it out.",
    ),
    Advice(
        re.compile(r"\.item\(\)|\bfloat\(|\bint\("),
        re.compile(r"\.item\b|generic_jump|scalar", re.IGNORECASE),
        re.compile(r"capture_scalar_outputs"),
        "Keep it a tensor (drop .item(), use .detach()), or set torch._dynamo.config.capture_scalar_outputs = True.",
    ),
    Advice(
        ANY,
        re.compile(r"ndarray|numpy", re.IGNORECASE),
        text="Do it with torch operations on the tensor, or outside of the compiled function.",
    ),
)


def advice(code: str, reason: str, explanation: str, hints: tuple[str, ...]) -> str:
    """What to do, in a sentence."""
    for row in TABLE:
        if row.line.search(code) and row.reason.search(f"{reason} {explanation}"):
            wanted = row.hint
            return next((hint for hint in hints if wanted is not None and wanted.search(hint)), row.text)
    fitting = [hint for hint in hints if not _GENERAL.search(hint)]
    return (
        next(iter(fitting), "")
        or "Move it out of the compiled function, or mark what it calls with torch.compiler.disable."
    )


def trial_of(code: str, text: str) -> TriedSetting | None:
    """What the sentence says to set, where that can be done from outside.

    >>> trial_of("n = int(x.sum())", "Set torch._dynamo.config.capture_scalar_outputs = True.").name
    'capture_scalar_outputs'
    """
    setting = _SETTING.search(text)
    if setting is not None:
        return TriedSetting(setting[1], settings={setting[1]: True})
    called = _CALLED.search(code)
    if called is not None and "reorderable_logging_functions" in text:
        name = called[1] if "." in called[1] else f"builtins.{called[1]}"
        return TriedSetting("reorderable_logging_functions", settings={"reorderable_logging_functions": [name]})
    return None
