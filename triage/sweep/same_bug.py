"""Are two failing scripts one bug? Questions to the facts of two runs; each answer says why, and whether it may be wrong.

A message that many bugs share (a C++ compiler's exit status, strides that are not as promised) makes no two failures one: there
the operation to blame decides. What speaks of one line of torch's own code for one operation needs no more than itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from triage.judge.likeness import same_failure
from triage.judge.signature import FailureSignature
from triage.model.stage import OutcomeKind, Stage
from triage.model.sweep import Fate
from triage.sweep.facts import Facts
from triage.sweep.outline import alike

# Files of torch in which each function is one operation's, or one construct's of Python: who fails there fails for one reason.
_TELLING = re.compile(
    r"(?:^|/)torch/(?:_decomp/|_refs/|_meta_registrations\.py|_inductor/(?:decomposition|lowering)\.py|_inductor/(?:kernel|fx_passes)/"
    r"|_dynamo/(?:variables/|symbolic_convert\.py|bytecode_transformation\.py|resume_execution\.py|convert_frame\.py))"
)
# What AOTAutograd refuses, by an assertion or in words of its own, is refused for how inputs, outputs and passes hang together,
# whatever computes them. Any other exception may be an operator's, called by code that it wrote.
_REFUSING = re.compile(r"(?:^|/)torch/_functorch/_aot_autograd/")
_REFUSES = re.compile(r"\bnot (?:(?:currently|yet) )?(?:support|handle|implement)")
# A check of the program's own: what it says is said of every wrong result.
_CHECKING = re.compile(r"(?:^|/)torch/testing/")
# Operators that are another one by a second name: "Alias for" in the documentation of torch.
_ALIASES = {
    "absolute": "abs",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "det": "linalg_det",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "inverse": "linalg_inv",
    "less": "lt",
    "less_equal": "le",
    "matrix_power": "linalg_matrix_power",
    "moveaxis": "movedim",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "orgqr": "linalg_householder_product",
    "pinverse": "linalg_pinv",
    "row_stack": "vstack",
    "slogdet": "linalg_slogdet",
    "special_expit": "sigmoid",
    "special_gammaln": "lgamma",
    "special_psi": "digamma",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "true_divide": "div",
}
_COMPILERS = (Stage.DYNAMO, Stage.AOT_AUTOGRAD, Stage.DECOMP_PARTITION, Stage.INDUCTOR, Stage.BACKEND)
_DTYPE = re.compile(r"\btorch\.(?:bool|u?int\d+|b?float\d+\w*|complex\d+)\b")
_LINE = re.compile(r"^.*?:\d+ in ")


@dataclass(frozen=True)
class Join:
    """Why two failures are one bug; `doubt` says what speaks against it."""

    because: str
    doubt: str | None = None


def plain(op: str) -> str:
    """The operator by its first name, without overload, namespace of the caller, and the mark of one that works in place.

    >>> plain("aten.add_.Tensor"), plain("torch.lerp"), plain("mylib.keep.default"), plain("torch.pinverse")
    ('aten.add', 'aten.lerp', 'mylib.keep', 'aten.linalg_pinv')
    """
    space, _, rest = op.partition(".")
    name = rest.split(".")[0] if space not in ("torch", "_C") else rest.rsplit(".", 1)[-1]
    space = "aten" if space in ("torch", "_C") else space
    name = name.rstrip("_") or name
    return f"{space}.{_first_name(name) if space == 'aten' else name}"


def _first_name(name: str) -> str:
    """`acos` for `arccos`, `erf` for `special_erf`, and what the table has."""
    return f"a{name[3:]}" if name.startswith("arc") else _ALIASES.get(name, name.removeprefix("special_"))


def shares(member: Facts, screened: Facts, told: Facts) -> str | None:
    """Why a script that was only screened fails as another did that was `screened` and then `told` all; None where it may not.

    Only for exceptions that the compiler raised itself: its stage and operation then are those of the other.
    """
    one, other = member.signature, screened.signature
    if (
        one is None
        or other is None
        or told.signature is None
        or one.kind is not OutcomeKind.EXCEPTION
        or not one.frames
    ):
        return None
    if not told.settled or told.stage not in [stage.value for stage in _COMPILERS] or told.fate is Fate.FLAKY:
        return None
    if member.own != screened.own or member.own is not None or member.direction != screened.direction:
        return None
    if not same_failure(one, other) or not same_failure(other, told.signature) or member.named != screened.named:
        return None
    if member.known_cause != screened.known_cause:
        return None
    if member.named is None and member.known_cause is None and not _telling(one):
        return None
    return f"fails with the same error{f' of {member.named}' if member.named else ''} at the same line of torch"


def one_bug(left: Facts, right: Facts) -> Join | None:
    """Why the two are one bug; None where they are not, as far as can be told."""
    if left.known_cause is not None or right.known_cause is not None:
        return Join("one known cause") if left.known_cause == right.known_cause else None
    if left.stage != right.stage or left.signature is None or right.signature is None:
        return None
    if left.own is not None or right.own is not None:
        return _of_own_code(left, right)
    if left.applied is not None and left.applied == right.applied and (join := _of_one_application(left, right)):
        return join
    same = same_failure(left.signature, right.signature)
    ops = [plain(facts.op) if facts.op else None for facts in (left, right)]
    if None in ops:
        return _without_operation(left, right, same)
    if ops[0] != ops[1]:
        return _of_two_operations(left, right, same)
    return _of_one_operation(str(ops[0]), left, right, same)


def _of_own_code(left: Facts, right: Facts) -> Join | None:
    """The program's own code under the compiler: two programs have one bug where they have one such function."""
    if left.own is None or right.own is None or _LINE.sub("", left.own) != _LINE.sub("", right.own):
        return None
    assert left.signature is not None and right.signature is not None
    same = same_failure(left.signature, right.signature)
    return Join("one function of their own, one error" if same else "one function of their own")


def _of_one_application(left: Facts, right: Facts) -> Join | None:
    """One decomposition, lowering or pass, whatever operation of the program led there: switched off, both pass."""
    one, other = left.signature, right.signature
    assert one is not None and other is not None
    if (one.kind, one.exception_type, one.skeleton) != (other.kind, other.exception_type, other.skeleton):
        return None  # one that is long is wrong in several ways
    return Join(f"without the {left.applied} each of them passes")


def _without_operation(left: Facts, right: Facts, same: bool) -> Join | None:
    assert left.signature is not None and right.signature is not None
    if _of_a_check(left.signature) and _of_a_check(right.signature) and left.op is None and right.op is None:
        return _of_two_checks(left, right, same)
    if _of_a_check(left.signature):
        return None
    if not same:
        return _but_for_dtypes(left.signature, right.signature)
    if left.signature.frames:
        doubt = None if _telling(left.signature) else "no operation is known for one of them"
        return Join("one error at one line of torch", doubt)
    if left.op is None and right.op is None and left.subsystem == right.subsystem:
        return Join("they end alike", "neither a line of torch nor an operation is known")
    return None


def _but_for_dtypes(one: FailureSignature, other: FailureSignature) -> Join | None:
    """One refusal, of tensors of two dtypes."""
    words = [(each.exception_type, each.frames, _DTYPE.sub("torch.dtype", each.skeleton)) for each in (one, other)]
    if not one.frames or words[0] != words[1]:
        return None
    return Join("one error at one line of torch, but for a dtype", "the dtypes differ")


def _of_two_operations(left: Facts, right: Facts, same: bool) -> Join | None:
    """One function of torch that fails for several operations, in the same words."""
    assert left.signature is not None and right.signature is not None
    if same and _telling(left.signature):
        return Join("one error at one line of torch", f"{left.op} and {right.op} are to blame")
    return None


def _of_one_operation(op: str, left: Facts, right: Facts, same: bool) -> Join | None:
    one, other = left.signature, right.signature
    assert one is not None and other is not None
    if same:
        return Join(f"{op} is to blame in each, with one error")
    if {one.kind, other.kind} == {OutcomeKind.EXCEPTION, OutcomeKind.WRONG_RESULT}:
        return None  # what is refused, or does not build, computes nothing
    if one.kind is not other.kind:
        part = left.subsystem if left.subsystem == right.subsystem else None
        return Join(f"{op} is to blame in each, in one part ({part})", "they end differently") if part else None
    if one.kind is OutcomeKind.WRONG_RESULT:
        kinds = [signature.wrong.kind if signature.wrong is not None else "" for signature in (one, other)]
        return Join(
            f"{op} gives wrong results in each",
            None if kinds[0] == kinds[1] or "" in kinds else f"what is wrong differs: {kinds[0]}, {kinds[1]}",
        )
    if one.exception_type != other.exception_type:
        return None
    if one.frames[:1] == other.frames[:1] and one.frames:
        return Join(f"{op} is to blame in each, at one line of torch", "the messages differ")
    if one.skeleton == other.skeleton:
        return Join(f"{op} is to blame in each, with one message", "they are raised at different lines of torch")
    return None


def _of_two_checks(left: Facts, right: Facts, same: bool) -> Join | None:
    """Only the program itself saw that something is wrong: what is left of the two after their reduction decides."""
    if left.outline and right.outline:
        if alike(left.outline, right.outline):
            return Join(
                "what is left of them is one program but for its names", None if same else "they say different things"
            )
        return None
    assert left.signature is not None
    if same and not left.signature.frames:  # words of the program's own
        return Join("they end alike", "neither a line of torch nor an operation is known")
    return None


def _of_a_check(signature: FailureSignature) -> bool:
    """Whether a check of values or of the program's own failed, and no line of the compiler."""
    if signature.frames:
        return _CHECKING.search(signature.frames[0]) is not None
    return signature.kind is OutcomeKind.WRONG_RESULT or signature.exception_type == "AssertionError"


def _telling(signature: FailureSignature) -> bool:
    if not signature.frames:
        return False
    if _TELLING.search(signature.frames[0]) is not None:
        return True
    if _REFUSING.search(signature.frames[0]) is None:
        return False
    return signature.exception_type == "AssertionError" or _REFUSES.search(signature.skeleton) is not None
