"""What a custom operator promises, and what it breaks: read from what `torch.library.opcheck` found. Pure functions.

The compiler believes an operator's schema and its fake kernel. One that changes an input in silence, returns an alias of one,
or whose fake kernel describes another result than its kernel gives, makes a correct compiler fail, or give wrong results.
What else a test says (`test_aot_dispatch_dynamic`) may be the compiler's fault; it is quoted, and nobody is blamed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from triage.model.own_code import NO_FAKE_KERNEL, Finding, OperatorCheck

_MUTATED = re.compile(r"Argument (\w+) is not defined as mutable but was mutated")
_ALIASED = re.compile(r"Argument (\w+) is not defined to alias output but was aliasing")
_NO_FAKE = re.compile(
    r"no fake impl|no fake kernel|meta kernel|'Meta' backend|Fake kernel.*not registered", re.IGNORECASE
)


def broken_by(check: OperatorCheck) -> tuple[Finding, ...]:
    """What the operator breaks, most telling first; empty where it keeps its promises."""
    found = (_changes_input(check), _returns_alias(check), _lacks_fake(check), _fake_differs(check))
    return tuple(finding for finding in found if finding is not None)


def findings_of(checks: Sequence[OperatorCheck], needed: Sequence[str]) -> tuple[Finding, ...]:
    """What the custom operators break. It explains the failure where that cannot do without the operator (`needed`)."""
    return tuple(
        replace(finding, explains=finding.explains and check.operator in needed)
        for check in checks
        for finding in broken_by(check)
    )


def _changes_input(check: OperatorCheck) -> Finding | None:
    names = list(dict.fromkeys(_found(_MUTATED, check)))
    if not names:
        return None
    listed = ", ".join(f"`{name}`" for name in names)
    declared = ", ".join(f'"{name}"' for name in names)
    return _finding(
        check,
        f"changes its input {listed} without saying so",
        "The compiler orders, fuses and drops calls by what an operator says that it changes; it says nothing.",
        f"Declare it, `mutates_args=({declared},)` of custom_op or `Tensor(a!) {names[0]}` in the schema, "
        "or have the kernel work on a clone.",
    )


def _returns_alias(check: OperatorCheck) -> Finding | None:
    names = list(dict.fromkeys(_found(_ALIASED, check)))
    if not names:
        return None
    return _finding(
        check,
        f"returns an alias of its input `{names[0]}`",
        "The result of a custom operator has memory of its own; the compiler builds on that.",
        "Return a clone: `return result.clone()`.",
    )


def _lacks_fake(check: OperatorCheck) -> Finding | None:
    said = [each.message for each in check.failures if each.test == "test_faketensor" and _NO_FAKE.search(each.message)]
    if not said:
        return None
    return _finding(
        check,
        NO_FAKE_KERNEL,
        "The compiler runs the fake kernel to learn shape, dtype and strides of the result before anything is computed.",
        f'Register one: `@torch.library.register_fake("{check.operator}")`, which returns an empty result of the right shape.',
    )


def _fake_differs(check: OperatorCheck) -> Finding | None:
    if check.fake_gives is None or check.kernel_gives is None:
        return None
    return _finding(
        check,
        "has a fake kernel that disagrees with its kernel",
        f"For {check.inputs} the fake kernel returns {check.fake_gives}, but the kernel {check.kernel_gives}.",
        "Make the fake kernel return what the kernel does, strides included, or have the kernel return what the fake one says.",
    )


def _finding(check: OperatorCheck, what: str, because: str, cure: str) -> Finding:
    place = place_of(check)
    at = f" ({place})" if place else ""
    return Finding(f"Custom operator `{check.operator}`{at} {what}", because, cure, place)


def place_of(check: OperatorCheck) -> str | None:
    """`img.py:4`: where the operator is registered."""
    return PurePath(check.where).name if check.where else None


def _found(pattern: re.Pattern[str], check: OperatorCheck) -> list[str]:
    return [name for failure in check.failures for name in pattern.findall(failure.message)]
