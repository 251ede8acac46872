"""Causes in the program itself that no error tells: a run showed each (those that an error tells are in `known_causes.py`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from triage.culprit.known_causes import DOCS, ISSUES
from triage.model.own_code import OwnCode
from triage.model.report import KnownCause
from triage.model.syntax import parse

PLACES = 3  # that one sentence names
_CACHE = re.compile(r"(?:functools\.)?(?:lru_cache|cache)")


def own_branch(asked_at: Sequence[str]) -> KnownCause:
    """A run in which the program's question was answered so showed it (`locate/walk.py`)."""
    places = f" in {', '.join(asked_at[:PLACES])}" if asked_at else ""
    return KnownCause(
        "own_branch_for_compiled_runs",
        f"The program asks torch{places} whether it is compiled and does something else then "
        "(`torch.compiler.is_compiling()`); that code fails without a compiler, too.",
        "Correct that code, or take the question out so that both runs do the same.",
        f"{DOCS}/generated/torch.compiler.is_compiling.html",
    )


def own_unwritten(places: Sequence[str]) -> KnownCause:
    """What was laid in that memory decided (`locate/unwritten.py`)."""
    return KnownCause(
        "unwritten_memory",
        f"The program reads memory that it never wrote, that of {', '.join(places[:PLACES])}: what lies there is chance, and it "
        "decides whether the check of the program's own fails.",
        "Write all of it before any of it is read, or take torch.zeros (torch.full) in its place.",
        f"{DOCS}/generated/torch.empty.html",
    )


def own_conversion(dtype: str) -> KnownCause:
    """The reproducer passes with what does not fit made to fit (`culprit/undefined.py`)."""
    return KnownCause(
        "undefined_conversion",
        f"The program converts floating-point numbers to {dtype} that do not fit into it. What comes of that is undefined, by "
        "torch's own documentation: eager gives some number, compiled code another, and so may another processor.",
        "Bring them into the range of the dtype before: `torch.clamp`, and `torch.nan_to_num` where there may be NaN.",
        f"{DOCS}/generated/torch.Tensor.to.html",
    )


def own_change() -> KnownCause:
    """A run of the reproducer showed it (`culprit/eager_backward.py`)."""
    return KnownCause(
        "changed_before_backward",
        "The program changes in place what autograd keeps for a backward pass: eager raises the same once `backward()` comes "
        "through there, as a run of the reproducer showed. The compiler traces that pass ahead of time, and raises it then.",
        "Call it under `torch.no_grad()` where no backward pass is wanted; else change a copy, or make a new tensor instead.",
        f"{ISSUES}/104943",
    )


def needs_cache(source: str) -> bool:
    """Whether a function of a reduced script stands under a cache of Python's own: were it not needed, it would have gone."""
    marks = [mark for node in ast.walk(parse(source)) for mark in getattr(node, "decorator_list", ())]
    return any(_CACHE.fullmatch(ast.unparse(mark.func if isinstance(mark, ast.Call) else mark)) for mark in marks)


def own_cache() -> KnownCause:
    """The smallest reproducer has one (`needs_cache`)."""
    return KnownCause(
        "python_cache_not_heeded",
        "A compiled function calls one that stands under `functools.lru_cache` (or `functools.cache`). Dynamo does not heed the "
        "cache and traces what is below it, as torch warns: what that draws, makes or reads is drawn, made or read anew.",
        "Put `@torch.compiler.disable` above the cache, or call it outside of what is compiled and hand over its result.",
        f"{ISSUES}/152994",
    )


def own_wrapper() -> KnownCause:
    """The script passes once a module is not wrapped (`locate/wrapper.py`)."""
    return KnownCause(
        "module_wrapper",
        "The program looks at the wrapper that torch.compile puts around a module: that has a class of its own "
        "(`OptimizedModule`), and `_orig_mod.` before the names of its parameters and submodules.",
        "Compile in place with `model.compile()`, which wraps nothing, or give the code that looks at it the module itself "
        "(`compiled._orig_mod`).",
        f"{ISSUES}/101107",
    )


def own_handler(own: OwnCode) -> KnownCause:
    """The agent saw that a signal called the function that raised it."""
    return KnownCause(
        "own_signal_handler",
        f"The exception is that of {own.name} ({own.place}), which a signal calls in the middle of whatever runs: a time limit "
        "of the program's own, most likely, that the program keeps without a compiler.",
        "There is nothing to correct in that line. Allow more time, begin to count once everything is compiled, or have less to "
        "compile: `triage explain` tells what takes the time. A Python loop is unrolled into one graph, turn by turn; compile "
        "what one turn does instead.",
        "https://docs.python.org/3/library/signal.html#execution-of-python-signal-handlers",
    )
