"""Whether a text is a program that a person could have written: judged before "the same failure", and without a run.

A pass may propose anything, and what it leaves may fail in the very same way for a reason that is no reason: a loop that
nothing ends hangs whatever the compiler does, a coroutine that nobody awaits never runs. Each rule counts what speaks
against a text; a candidate must not have more of it than the program itself has, which may be odd in its own way.
What only a run shows (a warning, an operator that breaks its contract, a file left behind) is judged in `checks`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from triage.judge.judgement import RefusedError
from triage.reduce.printing.kernels import broken_contracts
from triage.reduce.text.hopeless import (
    bad_unpacking,
    bare_modules,
    early_reads,
    misfit_calls,
    missing_attributes,
    unset_attributes,
)
from triage.reduce.text.operator_rules import (
    called_tensors,
    misfit_kernels,
    misfit_operator_calls,
    unfit_operators,
    unknown_operators,
)
from triage.reduce.text.script import Function, Script, blocks_of
from triage.reduce.text.seeding import unseeded
from triage.reduce.text.shape import is_torch_compile

_LEAVES = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def endless_loops(script: Script) -> Iterator[str]:
    """Loops that nothing ends: seen as `while True: pass`, left of a pass that rewrote a graph until nothing changed."""
    for node in script.nodes:
        if isinstance(node, ast.While) and _goes_on(node) and not _is_left(node):
            yield f"nothing ends `while {ast.unparse(node.test)}`"
        elif isinstance(node, ast.For) and _counts_on(node.iter) and not _is_left(node):
            yield f"nothing ends `for ... in {ast.unparse(node.iter)}`"


def unawaited(script: Script) -> Iterator[str]:
    """Calls of a coroutine function for nothing: its body never runs, so it passes uncompiled whatever stands there."""
    names = {node.name for node in script.nodes if isinstance(node, ast.AsyncFunctionDef) and not _yields(node)}
    names |= {target for target, value in _assigned(script) if _compiled_name(value) in names}
    for node in script.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in names or _compiled_name(called) in names:
                yield f"nobody awaits {ast.unparse(called)}()"


def called_modules(script: Script) -> Iterator[str]:
    """Modules called as if they were functions: seen as `asyncio(self)`, in a body that is traced and never runs."""
    modules = {
        alias.asname or alias.name.split(".")[0]
        for node in script.nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    stored = {node.id for node in script.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    stored |= {node.arg for node in script.nodes if isinstance(node, ast.arg)}
    for node in script.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in modules - stored:
            yield f"the module {node.func.id} is called"


def doubled_names(script: Script) -> Iterator[str]:
    """Functions and classes of one block that have one name: the reader takes the first, Python the last."""
    for node in script.nodes:
        for block in blocks_of(node):
            seen: set[str] = set()
            for item in block:
                if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not item.decorator_list:
                    if item.name in seen:
                        yield f"two definitions of {item.name}"
                    seen.add(item.name)


def doubtful_syntax(script: Script) -> Iterator[str]:
    """What Python itself warns of: `x is 1`, `assert (x, "...")`, `1()`, an escape that is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            compile(script.text, "repro.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return
    for warning in caught:
        yield str(warning.message)


def broken_operators(script: Script) -> Iterator[str]:
    """Kernels of custom operators that return nothing, or what they were given: any backend may then do anything."""
    yield from broken_contracts(script.tree)


@dataclass(frozen=True)
class Rule:
    """`flaws` yields a few words for each place that speaks against a text.

    `by_words`: what the program itself has is no flaw, but only that; otherwise as many of them may stand as it has.
    """

    name: str
    flaws: Callable[[Script], Iterator[str]]
    by_words: bool = False


RULES = (
    Rule("every loop can end", endless_loops),
    Rule("every coroutine is awaited", unawaited),
    Rule("modules are not called", called_modules),
    Rule("names are unique", doubled_names),
    Rule("Python warns of nothing", doubtful_syntax),
    Rule("custom operators keep their contract", broken_operators),
    Rule("calls fit what they call", misfit_calls),
    Rule("modules are initialised", bare_modules),
    Rule("functions have the attributes that are read", missing_attributes),
    Rule("objects have the attributes that their methods read", unset_attributes, by_words=True),
    Rule("what is unpacked has elements", bad_unpacking),
    Rule("names are bound before they are read", early_reads),
    Rule("registrations are complete", unfit_operators),
    Rule("operators are registered", unknown_operators),
    Rule("operators are called as registered", misfit_operator_calls),
    Rule("kernels take what torch gives", misfit_kernels),
    Rule("tensors are not called", called_tensors),
)
SEEDED = Rule("what was seeded stays seeded", unseeded, by_words=True)  # where the failure is the program's own check


@dataclass
class Validity:
    """The rules, with as many exceptions as the program itself has. Until one is named, anything goes."""

    rules: Sequence[Rule] = RULES
    allowed: dict[str, int] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)  # of rules that go by words
    named: bool = False

    def of(self, program: Script) -> None:
        """Candidates are made from this one: what is odd in it is no flaw of theirs."""
        for rule in self.rules:
            flaws = list(rule.flaws(program))
            if rule.by_words:
                self.own.update(flaws)
            else:
                self.allowed[rule.name] = max(len(flaws), self.allowed.get(rule.name, 0))
        self.named = True

    def check(self, script: Script) -> Script:
        """The same script. Raises RefusedError where a rule finds more than in the program, so that it costs no query."""
        for rule in self.rules if self.named else ():
            flaws = [flaw for flaw in rule.flaws(script) if not rule.by_words or flaw not in self.own]
            if len(flaws) > self.allowed.get(rule.name, 0):
                raise RefusedError(f"no valid program: {flaws[-1]}")
        return script


# -- loops ------------------------------------------------------------------------------------------------------------


def _goes_on(loop: ast.While) -> bool:
    """Whether nothing in a loop can change its test."""
    if isinstance(loop.test, ast.Constant):
        return bool(loop.test.value)
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    if any(isinstance(node, ast.Call | ast.Await | ast.NamedExpr) for node in ast.walk(loop.test)):
        return False
    names = {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}
    # A name that the loop so much as mentions may stand for something that changes.
    touched = {node.id for node in inside if isinstance(node, ast.Name)}
    calls = any(isinstance(node, ast.Call) for node in inside)
    looks_inside = any(isinstance(node, ast.Attribute | ast.Subscript) for node in ast.walk(loop.test))
    return not names & touched and not (calls and looks_inside)


def _is_left(loop: ast.While | ast.For) -> bool:
    return any(_leaves(statement, inner=False) for statement in loop.body)


def _leaves(node: ast.AST, *, inner: bool) -> bool:
    if isinstance(node, _LEAVES) or (isinstance(node, ast.Break) and not inner):
        return True
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("exit", "quit", "sys.exit", "os._exit", "next"):
        return True
    if isinstance(node, _FUNCTIONS):
        return False
    inner = inner or isinstance(node, ast.While | ast.For)
    if isinstance(node, ast.If) and _is_decided(node.test):
        held = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return any(_leaves(child, inner=inner) for child in (node.body if held else node.orelse))
    return any(_leaves(child, inner=inner) for child in ast.iter_child_nodes(node))


def _is_decided(test: ast.expr) -> bool:
    """Whether a condition asks nothing: `if "":` is what is left of one that was never met."""
    asks = (ast.Name, ast.Call, ast.Await, ast.Attribute, ast.Subscript)
    return not any(isinstance(node, asks) for node in ast.walk(test))


def _counts_on(node: ast.expr) -> bool:
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return name in ("itertools.count", "itertools.cycle", "count", "cycle") or (
        name in ("itertools.repeat", "repeat") and isinstance(node, ast.Call) and len(node.args) == 1
    )


# -- coroutines -------------------------------------------------------------------------------------------------------


def _yields(function: Function) -> bool:
    return any(isinstance(node, ast.Yield) for node in ast.walk(function))


def _assigned(script: Script) -> Iterator[tuple[str, ast.expr]]:
    for node in script.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _compiled_name(node: ast.expr) -> str:
    """`f` of `torch.compile(f, ...)`."""
    if isinstance(node, ast.Call) and is_torch_compile(node.func) and node.args:
        return getattr(node.args[0], "id", "")
    return ""
