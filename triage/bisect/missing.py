"""A script that uses what this torch does not have yet (or no more) is untestable there: neither good nor bad.

Told from a failure inside torch by where the exception was raised: the program's own line, or the `__getattr__` that answers
it. The messages are Python's and torch's own; each pattern names what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from triage.judge.signature import torch_frame
from triage.judge.skeleton import short_type, unwrap_text
from triage.model.bisection import Standing, TestedVersion
from triage.model.outcome import Frame, RaisedException

_NOT_INSTALLED = "the module {0} is not installed; name its package with --with"
_SAID = re.compile(re.escape(_NOT_INSTALLED).replace(re.escape("{0}"), r"([\w.]+)"))
# What comes with some torch and not with another: no version speaks for the others.
_OF_TORCH = frozenset(
    {"torch", "functorch", "torchgen", "caffe2", "triton", "nvidia", "cuda", "sympy", "mpmath", "networkx"}
)

# (exception types, message, what to say of the match)
_PATTERNS: tuple[tuple[frozenset[str], re.Pattern[str], str], ...] = tuple(
    (frozenset(types.split()), re.compile(pattern), words)
    for types, pattern, words in (
        (
            "AttributeError",
            r"module '(torch[\w.]*)' has no attribute '(\w+)'",
            "{0}.{1} does not exist in this version",
        ),
        ("ImportError", r"cannot import name '(\w+)' from '(torch[\w.]*)'", "{1}.{0} does not exist in this version"),
        ("ModuleNotFoundError ImportError", r"No module named '(torch\.[\w.]+)'", "{0} does not exist in this version"),
        (
            "ModuleNotFoundError",
            r"No module named '([\w.]+)'",
            _NOT_INSTALLED,
        ),
        (
            "AttributeError",
            r"'_Op(?:Namespace|Packet|OverloadPacket)' '([\w:.]+)' object has no attribute '(\w+)'",
            "the operator {0}.{1} does not exist in this version",
        ),
        ("AttributeError", r"(torch[\w.]*\.config\.[\w.]+) does not exist", "{0} does not exist in this version"),
        (
            "AttributeError",
            r"(?:type object )?'(Tensor|Parameter|torch[\w.]*|GraphModule|FakeTensor)' (?:object )?has no attribute '(\w+)'",
            "{0}.{1} does not exist in this version",
        ),
        (
            "TypeError",
            r"([\w.]+\(\)) got an unexpected keyword argument '(\w+)'",
            "{0} does not take {1}= in this version",
        ),
        ("RuntimeError", r"Unexpected optimization option ([\w.]+)", "torch.compile has no option {0} in this version"),
        ("RuntimeError", r"Unrecognized mode=([\w-]+)", "torch.compile has no mode {0} in this version"),
        ("RuntimeError", r"No such operator ([\w:.]+)", "the operator {0} does not exist in this version"),
        ("InvalidBackend", r"Invalid backend: '([^']+)'", "the backend {0} does not exist in this version"),
    )
)
_ANSWERS = (
    "__getattr__",
    "__getattribute__",
    "__setattr__",
    "lookup_backend",
    "apply_options",
    "apply_mode",
    "list_mode_options",
)


def missing_feature(exception: RaisedException) -> str | None:
    """What the program needs and does not find, in words; None where the exception says something else."""
    inner = exception.innermost()
    type_name, message = unwrap_text(inner.type, inner.message)
    kind = short_type(type_name)
    first = message.strip().split("\n", 1)[0]
    for kinds, pattern, words in _PATTERNS:
        found = pattern.search(first) if kind in kinds else None
        if found is not None and _asked_by_the_program(inner.frames, kind, found[1]):
            return words.format(*found.groups())
    return None


def lacking_everywhere(results: Iterable[TestedVersion], unit: str) -> tuple[str, str] | None:
    """(module, version): what no environment has because one has it not, as they differ in torch alone.

    None where some version could be tested, and for commits: each has its own modules.
    """
    rows = list(results)
    if unit == "commit" or any(row.verdict is not Standing.SKIP for row in rows):
        return None
    found = ((_SAID.fullmatch(row.error or ""), row.version) for row in rows)
    names = ((match[1], version) for match, version in found if match is not None)
    return next(((name, version) for name, version in names if name.partition(".")[0] not in _OF_TORCH), None)


def _asked_by_the_program(frames: tuple[Frame, ...], kind: str, name: str) -> bool:
    """Whether the innermost frame is outside torch, or is torch answering the program's question for `name`."""
    if not frames or kind == "InvalidBackend":
        return True
    last = frames[-1]
    if kind == "TypeError" and not _calls_torch(last.code, name):
        return False  # a mistake between functions of the program
    return torch_frame(last) is None or last.function in _ANSWERS


def _calls_torch(code: str, name: str) -> bool:
    """Whether a line calls `name()` of torch, as far as can be read: by torch's name, or the usual ones of its modules."""
    called = name.removesuffix("()").removesuffix(".__init__").rpartition(".")[2]
    return "torch" in code or re.search(rf"\b(?:F|nn|functional)\.{re.escape(called)}\(", code) is not None
