"""Which guard failed, and what helps against it: the table of recompilations. A row is added here and nowhere else.

The words of guards are torch's (torch/_dynamo/guards.py, torch/csrc/dynamo/guards.cpp), with `L['x']` written as `x`. What can be
switched on from outside is `tried` in a run of its own, and the report says whether it helped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TriedSetting:
    """What is switched on from outside: arguments of torch.compile, settings of torch._dynamo.config."""

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Cure:
    """A kind of guard, told by a pattern in its text; groups of the pattern fill the words."""

    kind: str
    pattern: re.Pattern[str]
    text: str
    trial: TriedSetting | None = None


DYNAMIC = TriedSetting("dynamic=True", arguments={"dynamic": True})
UNSPEC_INT = TriedSetting("allow_unspec_int_on_nn_module", settings={"allow_unspec_int_on_nn_module": True})
OTHER = Cure("other", re.compile(""), "No cure is known for this guard: keep what it names the same between calls.")

CURES: tuple[Cure, ...] = (
    Cure(
        "after_break",
        re.compile(r"___stack\d+"),
        "What Python computed at a graph break is a constant for the graph behind it: mend the break before this line.",
    ),
    Cure(
        "size",
        re.compile(r"tensor '(?P<name>[^ ]+)' size mismatch at index (?P<index>\d+)"),
        "Dimension {index} of `{name}` changes: torch.compile(..., dynamic=True), or "
        "torch._dynamo.mark_dynamic({name}, {index}) before the call.",
        DYNAMIC,
    ),
    Cure(
        "size",
        re.compile(r"size mismatch|\.size\(\)|\.shape\b|\b(?:Eq|Ne|Mod)\("),
        "A dimension changes, or is tied to a number: torch.compile(..., dynamic=True), or "
        "torch._dynamo.mark_dynamic(tensor, dim).",
        DYNAMIC,
    ),
    Cure(
        "stride",
        re.compile(r"stride"),
        "The memory layout of an input changes: call .contiguous() on it before the call.",
    ),
    Cure("dtype", re.compile(r"dtype"), "The dtype of an input changes: cast it to one before the call."),
    Cure("device", re.compile(r"device"), "The device of an input changes: move it to one before the call."),
    Cure(
        "rank",
        re.compile(r"rank mismatch|\.ndim|\.dim\(\)"),
        "The number of dimensions changes: reshape to one before the call.",
    ),
    Cure(
        "requires_grad",
        re.compile(r"requires_grad"),
        "An input requires gradients in some calls only: detach() it, or set requires_grad the same way for every call.",
    ),
    Cure(
        "grad_mode",
        re.compile(r"GLOBAL_STATE|global_state|grad_mode|is_grad_enabled|autocast|deterministic"),
        "A global mode is switched between calls (no_grad, autocast, deterministic algorithms, threads): each needs a "
        "version of its own. Call it under one mode, or compile one function per mode.",
    ),
    Cure(
        "dispatch_keys",
        re.compile(r"dispatch key set|DispatchKeySet"),
        "An input is of another kind in some calls (made under inference_mode, a subclass, a sparse or quantised tensor): "
        "make it the same way for every call.",
    ),
    Cure(
        "training",
        re.compile(r"\.training\b"),
        "train() and eval() need a version each: expected once. Where it is more, do not switch between steps.",
    ),
    Cure(
        "module_attribute",
        re.compile(r"^(?P<name>self(?:\.\w+|\[[^\]]+\])+) == -?\d+$"),
        "An integer attribute of a module changes: keep it in a tensor (register_buffer), pass it as an argument, or set "
        "torch._dynamo.config.allow_unspec_int_on_nn_module = True.",
        UNSPEC_INT,
    ),
    Cure(
        "global",
        re.compile(r"(?P<name>G\['\w+'\])"),
        "A global that the function reads changes ({name}): pass it as an argument, as a tensor if it changes often.",
    ),
    Cure(
        "int_argument",
        re.compile(r"^(?P<name>\w+(?:\.\w+|\[[^\]]+\])*) == -?\d+$"),
        "An integer argument changes ({name}): torch.compile(..., dynamic=True) makes it a symbol, or pass a tensor.",
        DYNAMIC,
    ),
    Cure(
        "float_argument",
        re.compile(r"^(?P<name>\w[^ ]*) == -?(?:\d+\.\d|\d+e|inf|nan)"),
        "A float changes ({name}): pass it as a tensor (torch.tensor(value)).",
        DYNAMIC,
    ),
    Cure(
        "length",
        re.compile(r"len\(|^not [\w.]+$|^[\w.]+$"),
        "A list, tuple or dictionary has another length, or is empty in some calls only: "
        "pass one tensor (torch.stack), or the same number of items.",
    ),
    Cure(
        "object",
        re.compile(r"___check_obj_id|check_obj|___check_function|__code__|__closure__|id\(|is not"),
        "Another object (a function, lambda or closure made anew) arrives in each call: make it once, outside of the loop.",
    ),
    Cure(
        "type",
        re.compile(r"___check_type_id|check_type|expected type"),
        "An argument has another type in some calls: convert it before the call.",
    ),
    Cure(
        "constant",
        re.compile(r" == (?:'|\"|True|False|None)| is (?:None|True|False)"),
        "A string, flag or None that the function reads changes: one version for each value, "
        "which is expected while there are few.",
    ),
    Cure("keys", re.compile(r"keys|___dict"), "A dictionary has other keys: give it the same keys in every call."),
    Cure(
        "alias", re.compile(r"[Dd]uplicate|alias"), "Two inputs are one tensor in some calls only: clone one of them."
    ),
    Cure(
        "dead_object",
        re.compile(r"invalidated|weakref|deallocat"),
        "What was compiled was thrown away: do not make the module or the compiled function anew in each step.",
    ),
)


def cure_for(guard: str) -> tuple[Cure, str]:
    """The row for the text of a guard, and its words."""
    for cure in CURES:
        found = cure.pattern.search(guard)
        if found is not None:
            return cure, _filled(cure.text, found)
    return OTHER, OTHER.text


def _filled(text: str, found: re.Match[str]) -> str:
    groups = {name: value or "it" for name, value in found.groupdict().items()}
    return text.format(**groups) if groups else text
