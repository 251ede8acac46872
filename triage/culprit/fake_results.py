"""Compiled code is made from what operations give fake tensors: one that gives real ones other strides makes it wrong.

What then fails is another operation, or a check in the compiled code. So each operation that the reproducer calls is given
real tensors and fakes of them, without a compiler, and what comes out is compared. That the failure comes of a difference is
shown by runs: it is there with the fake results as they are, and gone with eager's in their place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from triage.culprit.inquiry import Inquiry
from triage.culprit.settings import inserted
from triage.model.rungs import UNCOMPILED

FILE = "fakes.jsonl"  # of `agent/warm/fakes.py`
MOST = 4  # operations that are asked each by itself

_Call = dict[str, Any]


@dataclass(frozen=True)
class FakeWrong:
    """The operation (`aten.copysign`) whose fake result the failure comes of; `kind` (strides) is what both give otherwise."""

    operation: str
    kind: str
    fake: str
    eager: str

    def sentence(self) -> str:
        """What it gives, without its name: `its fake kernel, by which ..., gives strides (2, 1), eager (1, 2)`."""
        return f"its fake (meta) kernel, by which code is compiled, gives {self.facts()}"

    def facts(self) -> str:
        """`strides (2, 1), eager (1, 2)`."""
        kind = "" if self.kind == "aliasing" else f"{self.kind} "
        return f"{kind}{self.fake}, eager {self.eager}"


def fake_wrong(source: str, inquiry: Inquiry) -> FakeWrong | None:
    """The first operation of a reproducer with whose real result in place of the fake one it passes; None without one."""
    if inquiry.budget.spent():
        return None
    calls = _measured(source, inquiry)
    if not calls or _outcome(source, [], inquiry) != "same_failure" or _outcome(source, calls, inquiry) != "ok":
        return None
    names = list(dict.fromkeys(call["operation"] for call in calls))
    if len(names) == 1:
        return _told(calls[0])
    for name in names[:MOST]:
        own = [call for call in calls if call["operation"] == name]
        if _outcome(source, own, inquiry) == "ok":
            return _told(own[0])
    return None


def _measured(source: str, inquiry: Inquiry) -> list[_Call]:
    text = inserted(source, "import _triage_agent.warm.fakes\n_triage_agent.warm.fakes.measure()")
    _, files = inquiry.runner.run_telling(text, (FILE,), rung=UNCOMPILED.name, timeout=inquiry.limit())
    found = []
    for line in files.get(FILE, "").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # the line at which the process died
    return [call for call in found if _kind(call)]


def _outcome(source: str, calls: Sequence[_Call], inquiry: Inquiry) -> str:
    """What the reproducer does with eager's results in the place of what these calls gave to fake tensors."""
    text = inserted(source, f"import _triage_agent.warm.fakes\n_triage_agent.warm.fakes.mend({list(calls)!r})")
    result = inquiry.run(text)
    return "not_run" if result is None else inquiry.judged(result)[0]


def _told(call: _Call) -> FakeWrong:
    number, kind = _kind(call) or (0, "")
    fake, eager = (_words(call[which][number], kind) for which in ("fake", "real"))
    return FakeWrong(call["operation"].rpartition(".")[0], kind, fake, eager)


def _kind(call: _Call) -> tuple[int, str] | None:
    """(the first result that differs, in what); None where no one fact does: there are more results, or no tensors."""
    if len(call["real"]) != len(call["fake"]):
        return None
    for number, (real, fake) in enumerate(zip(call["real"], call["fake"], strict=True)):
        if real is None or fake is None:
            continue
        for kind, names in _FACTS.items():
            if any(real[name] != fake[name] for name in names):
                return number, kind
    return None


_FACTS = {
    "shape": ("size",), "dtype": ("dtype",), "device": ("device",), "aliasing": ("of",), "strides": ("stride",),
    "storage offset": ("offset",),
}  # fmt: skip


def _words(told: dict[str, Any], kind: str) -> str:
    if kind == "aliasing":
        return "memory of its own" if told["of"] is None else "the memory of an input"
    value = told[_FACTS[kind][0]]
    return f"({', '.join(map(str, value))}{',' if len(value) == 1 else ''})" if isinstance(value, list) else str(value)
