"""What a failure is called: its type and what its message says first, on one line, as a reader is told."""

from __future__ import annotations

import re

from triage.judge.signature import PHASES, FailureSignature
from triage.judge.skeleton import last_raised, short_type
from triage.model.accuracy import TYPE
from triage.model.text import ESCAPES, clip, first_line

_EXPLANATION = re.compile(r"^ *Explanation:(?: |$)", re.MULTILINE)  # where Dynamo goes on to teach
# `torch/_dynamo/utils.py`, since 2.8; before it the message had no explanation.
_FAKE_CALL = re.compile(
    r"(?s)^\w+ when making fake tensor call\n.*?: got \w+\((?P<quote>['\"])(?P<said>.+?)(?P=quote)\)\s*(?:\n|$)"
)
# `torch/_dynamo/symbolic_convert.py`, where no handler of the traced program takes an exception (2.7 and newer).
_OBSERVED = re.compile(
    r"(?s)\A(?P<first>Observed exception)\n.*\n *(?:Context|Developer debug context): raised exception (?P<what>[^\n]+)"
)
# `ExceptionWrapper` of torch/_utils.py (a DataLoader, DataParallel), and torch.multiprocessing.spawn: a whole traceback follows.
_WORKER = re.compile(
    r"(?:Caught (?P<type>\w+) (?P<place>in [^\n]+)\.\nOriginal Traceback"
    r"|\s*-- (?P<process>Process \d+) terminated with the following error:\nTraceback)"
)
# `torch/_inductor/runtime/compile_tasks.py`: Python refuses the module that Inductor wrote, whose name is another each time.
_WRITTEN = re.compile(r"Failed to import \S+\.py\n(?P<said>\w+: .+?)(?: \(\w+\.py, line \d+\))?(?:\n|\Z)")
_CALLED_WITH_TEXT = re.compile(r"(?P<type>\w+)\(\[?(?P<quote>['\"])(?P<said>.*)(?P=quote)\]?\)")
_LOWERED = re.compile(r"target: (\S+)")  # as `skeleton.telling_lines` leaves it of a LoweringException
_GENERATED = re.compile(r"^kernel, \S+\.cpp:\d+, ")  # where a check of a compiled kernel stands: in a file that is gone
_DIRECTORIES = re.compile(r"(?<![\w./~])(?:~|\.{1,2})?/(?:[^\s/:'\"]+/)+(?=[^\s/])")


def one_line(signature: FailureSignature, limit: int = 110) -> str:
    """Type and message as a headline, at most `limit` characters of message: files by their names, not where they lay.

    A compiled kernel's file has another name each time, and is not told.
    """
    told = ESCAPES.sub("", signature.message)
    message = _of_another(told) or " ".join(_EXPLANATION.split(told)[0].split())
    message = _DIRECTORIES.sub("", _GENERATED.sub("", message))
    return headline(signature.exception_type, clip(message, limit))


def first_words(message: str) -> str:
    r"""The line of a message that tells most: what was raised in it, where the first says only that something was.

    >>> first_words("RuntimeError when making fake tensor call\n  Explanation: ... add(...): got RuntimeError('no such size')")
    'no such size'
    >>> first_words("Observed exception\n  Explanation: ...\n  Context: raised exception KeyError('no such key')")
    'Observed exception KeyError: no such key'
    >>> first_words("kernel, /tmp/x/4q/c4q7.main.cpp:21, index out of bounds: 0 <= tmp7 < 10L")
    'index out of bounds: 0 <= tmp7 < 10L'
    """
    return _of_another(message) or _GENERATED.sub("", first_line(message))


def _of_another(message: str) -> str:
    """What is told of another exception, in a call with fake tensors, in the program, in a worker, in a module that the compiler
    wrote; empty where of none.
    """
    return _of_fake_tensors(message) or _observed(message) or _of_worker(message) or _of_written(message)


def _of_written(message: str) -> str:
    found = _WRITTEN.match(message)
    return f"{found['said']}, in the generated code" if found is not None else ""


def _of_worker(message: str) -> str:
    told = _WORKER.match(message)
    raised = last_raised(message) if told is not None else None
    if told is None or raised is None:
        return ""
    name, said = short_type(raised["type"]), first_words((raised["rest"] or "").strip())
    place = told["place"] or f"in {told['process'].lower()}"
    return f"{said if said and told['type'] == name else headline(name, said)} ({place})"


def _observed(message: str) -> str:
    found = _OBSERVED.search(message)
    if found is None:
        return ""
    called = _CALLED_WITH_TEXT.fullmatch(found["what"].strip())
    told = found["what"].strip() if called is None else f"{called['type']}: {called['said']}"
    return f"{found['first']} {told}"


def _of_fake_tensors(message: str) -> str:
    found = _FAKE_CALL.search(message)
    return first_line(found["said"].replace("\\n", "\n")) if found is not None else ""


def asserted(kind: str, told: str) -> str:
    """The statement of an `assert` that has no message, from its line as `Frame.told` has it; empty for any other exception.

    >>> asserted("AssertionError", "train.py:24 in check: assert torch.equal(a, b)")
    'assert torch.equal(a, b)'
    """
    code = told.partition(": ")[2]
    return code if kind == "AssertionError" and code.startswith("assert ") else ""


def headline(kind: str, message: str) -> str:
    """`RuntimeError: its message`, `SIGSEGV while running compiled code`: what fails, as a reader is told.

    A crash and a hang have no message of their own but the agent's last word, which stands here as the phase it tells of; nor
    has an `assert` in a lowering, of which the operator is all that is known.
    """
    lowered = _LOWERED.fullmatch(message)
    if lowered is not None:
        return f"{kind} in the lowering of {lowered[1]}"
    phase = next((name for pattern, name in PHASES if pattern.fullmatch(message)), None)
    if phase is not None:
        return f"{kind} {phase}" if phase.startswith(("outside", "after")) else f"{kind} while {phase}"
    return kind if message in ("", kind) else f"{kind}: {message}"


def in_short(signature: FailureSignature) -> str:
    """Type and what its message says first, as they stand in a table or within a sentence."""
    kind = "a wrong result" if signature.exception_type == TYPE else signature.exception_type
    return headline(kind, clip(first_words(signature.message), 120))
