"""What became of PyTorch's minifier, in sentences: the ways in which it fails, each recognised from what it left.

A launcher or a checkpoint that lost part of the graph (a tensor constant, the registration of a custom operator) fails for
that reason, before anything is compiled: that is neither the failure nor another failure of the compiler, so it is no
sibling. Pure functions of results and texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from triage.judge.judgement import CandidateResult, Judgement
from triage.judge.likeness import same_face
from triage.judge.signature import FailureSignature
from triage.judge.skeleton import short_type
from triage.model.outcome import Outcome
from triage.model.stage import OutcomeKind, Verdict
from triage.model.text import clip, first_line, words
from triage.probe.traceback_text import last_traceback

_ATTRIBUTE = re.compile(r"'Repro' object has no attribute '(?P<name>\w+)'")
_NAMESPACE = re.compile(r"'_OpNamespace' (?:'(?P<space>\w+)' )?object has no attribute '(?P<op>\w+)'")
_CONSTANT_LOST = re.compile(r"Constant (?P<name>\S+) was not serialized")
_UNWRITABLE = re.compile(
    r"Cannot convert module to string|GraphModule cannot be converted to string|arg is neither SymInt/int nor torch\.Tensor"
)
_ACCURACY_PASSES = "Input graph does not fail accuracy testing"
_GRAPH_PASSES = re.compile(r"Input graph did not fail the tester|No issue was detected")
_NO_SCRIPT = words("SyntaxError IndentationError NameError UnboundLocalError ModuleNotFoundError ImportError")
_NO_CHECK_OPTION = re.compile(r"unrecognized arguments:|error: argument|invalid choice")


@dataclass(frozen=True)
class JudgedScript:
    """What a script turned out to be. `sibling` is another failure of the compiler, where it drifted to one."""

    same: bool
    sentence: str
    sibling: FailureSignature | None = None


def broken_script(type_name: str, message: str) -> str | None:
    """Why a script of PyTorch's cannot say anything about the graph, if that is what this exception means."""
    kind = short_type(type_name)
    lost = _ATTRIBUTE.search(message)
    if lost is not None:
        what = "a tensor constant" if "constant" in lost.group("name") else "a part"
        return f"lost {what} of the graph ({kind}: {lost.group()})"
    operator = _NAMESPACE.search(message)
    if operator is not None:
        name = "::".join(filter(None, [operator.group("space"), operator.group("op")]))
        return f"does not carry the registration of the custom operator {name} ({kind}: {operator.group()})"
    if kind in _NO_SCRIPT:
        return f"is not a valid script ({kind}: {_first_line(message)})"
    if kind == "FileNotFoundError":
        return f"needs a file that is not there any more ({kind}: {_first_line(message)})"
    return None


def judge_script(
    result: CandidateResult, judgement: Judgement, signature: FailureSignature, *, compares: bool
) -> JudgedScript:
    """What a checkpoint of PyTorch's is, run by itself in a fresh process. `compares`: it was to compare results."""
    outcome = result.outcome
    if outcome.kind is OutcomeKind.OK:
        return JudgedScript(False, "does not fail")
    if judgement.verdict is Verdict.SAME_FAILURE:
        return JudgedScript(True, "fails the same way")
    if same_face(result.signature, signature):
        return JudgedScript(
            True, "fails with the same error"
        )  # at another place of torch: the harness is not torch.compile
    error = outcome.innermost
    if error is not None:
        if compares and short_type(error.type) == "AccuracyError":
            return JudgedScript(True, "gives other results compiled than in eager mode")
        reason = broken_script(error.type, error.message)
        if reason is not None:
            return JudgedScript(False, reason)
    if outcome.kind is OutcomeKind.INVALID:
        return JudgedScript(False, f"could not be run ({outcome.detail})")
    if outcome.kind is OutcomeKind.HANG and judgement.sibling is None:
        return JudgedScript(False, f"had not ended after {outcome.seconds:.0f} s")
    return JudgedScript(False, f"drifted to another error ({face(result.signature, outcome)})", judgement.sibling)


def dump_sentence(outcome: Outcome, same: bool, asked: str) -> str:
    """Why running the program under the minifier's variables left no launcher."""
    if outcome.kind is OutcomeKind.OK:
        return f"With {asked}, the program passed, so PyTorch wrote no minifier launcher."
    if outcome.kind is OutcomeKind.HANG:
        return (
            f"With {asked}, the program did not end in {outcome.seconds:.0f} s, and PyTorch wrote no minifier launcher."
        )
    error = outcome.innermost
    if error is not None and _UNWRITABLE.search(error.message):
        return f"PyTorch could not write the graph as a script ({_first_line(error.message)})."
    if same:
        return f"The program failed as before with {asked}, but at a place which that does not watch: no launcher was written."
    return f"With {asked}, the program failed in another way ({face(None, outcome)}), and PyTorch wrote no minifier launcher."


def launcher_sentence(output: str, *, timed_out: bool, seconds: float) -> str:
    """Why the launcher left nothing. `output` is what it printed."""
    if _GRAPH_PASSES.search(output):
        return "PyTorch's minifier started the graph from its launcher, and it did not fail there." + _lost(output)
    if _ACCURACY_PASSES in output:
        return "PyTorch's minifier compared the results again, and they agreed." + _lost(output)
    if timed_out:
        return f"PyTorch's minifier had not written anything when its time of {seconds:.0f} s was over."
    error = last_traceback(output)
    if error is None:
        return "PyTorch's minifier ended without writing anything." + _lost(output)
    reason = broken_script(error.type, error.message)
    if reason is not None:
        return f"PyTorch's minifier launcher {reason}."
    return (
        f"PyTorch's minifier launcher drifted to another error ({short_type(error.type)}: {_first_line(error.message)})."
        + _lost(output)
    )


def refuses_options(output: str, code: int | None) -> bool:
    """Whether the launcher is of a torch that does not know an option (argparse ends with status 2)."""
    return code == 2 and _NO_CHECK_OPTION.search(output) is not None


def face(signature: FailureSignature | None, outcome: Outcome) -> str:
    """A failure in one line."""
    if signature is not None:
        return f"{signature.exception_type}: {_first_line(signature.message)}".rstrip(": ")
    if outcome.exception is not None:
        error = outcome.exception.innermost()
        return f"{short_type(error.type)}: {_first_line(error.message)}".rstrip(": ")
    return f"{outcome.kind.value} {outcome.signal or ''} {_first_line(outcome.detail)}".strip()


def _lost(output: str) -> str:
    found = _CONSTANT_LOST.search(output)
    if found is None:
        return ""
    return f" It had put other numbers in the place of the tensor constant {found.group('name')}."


def _first_line(text: str) -> str:
    return clip(first_line(text), 160)
