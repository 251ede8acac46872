"""Which operation, and which part inside the stage: read from the error's own words, and from what the reduction left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from triage.culprit.called_as import method_operator, other_name
from triage.culprit.fake_results import FakeWrong
from triage.culprit.given_wrong import GivenWrong
from triage.culprit.match_known_cause import lies_in_environment
from triage.judge.signature import torch_frame
from triage.locate.conclude import Conclusion
from triage.model import trees
from triage.model.effects import is_context, is_transform, mutated
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.outcome import RaisedException
from triage.model.report import Culprit, SubsystemSearch
from triage.model.stage import Stage
from triage.model.text import some

_TARGET = re.compile(r"^\s*target: (?:<.*?)?([a-z_]\w*(?:\.\w+)+)", re.MULTILINE)
_OPERATOR = re.compile(
    r"\b(?:torch\.ops\.)?((?:aten|prims|torchvision|[a-z_]\w*)(?:\.|::)[a-z_]\w*(?:\.(?:default|[A-Z]\w*))?)\b"
)
_OPERATORS = {
    "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "getitem": "index", "setitem": "index_put_",
    "invert": "bitwise_not", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
_OPERATORS |= {f"i{name}": f"{_OPERATORS.get(name, name)}_" for name in (
    "add", "and_", "floordiv", "lshift", "mod", "mul", "or_", "pow", "rshift", "sub", "truediv", "xor",
)}  # fmt: skip
_PREFIXES = {  # of the operator's name, by the module of the function
    "torch": "",
    "torch._C._nn": "",
    "torch.nn.functional": "",
    "torch.linalg": "linalg_",
    "torch.special": "special_",
    "torch.fft": "fft_",
}
_BACKWARD_NODE = re.compile(r"(\w+_backward)(?:_\d+)?")  # as Inductor names a node of the backward graph
FAKE_TENSORS = "fake tensors"
MOST_BLAMED, MOST_SHOWN = 5, 8  # operators of a reproducer
_DECOMPOSING = ("decomposition", "py_impl decomposition")  # parts whose applications are told by the operator
_OVERLOADED = re.compile(r"([a-z_]\w*\.\w+)\.\w+")
_ONLY = "the only operation left in the reproducer"
_NAMED = "named by the error"
_DECOMPOSED = "the decomposition to blame is its own"
_THROUGH = "the exception came through what is registered for it"
_MODE_SWITCH = re.compile(r"(?:\.|^)_?(?:set_grad_enabled|(?:enter|exit)_\w+|inference_mode)$")
# A higher-order operator that only runs what it holds; the others (cond, scan, flex_attention, ...) have a meaning of their own.
_ONLY_HOLDS = re.compile(r"wrap|checkpoint|autograd_function_apply|invoke_subgraph|strict_mode|compiled_code")
# A custom operator in the words of Dynamo and of the dispatcher; what is C++ is none.
_CUSTOM = re.compile(r"\bunsupported operator: ([a-z_]\w*\.\w+)|(?<![\w.:])([a-z_]\w*::[a-z_]\w*)\b(?!::|\()")
# Its schema in the words of functionalization: `shop::store(Tensor(a0!) cache, Tensor row) -> ()`.
_SCHEMA = re.compile(r"(?<![\w.:])([a-z_]\w*::[a-z_]\w*)(?:\.\w+)?\((?:[^()\n]|\([^()\n]*\))*\) -> ")
_CPP = ("at", "autograd", "c10", "caffe2", "functorch", "jit", "native", "std", "torch")
_NODE = re.compile(r"While executing %\w+ : .*?call_function\[target=([\w.]+)\]")
# A call that Dynamo has tried with fake tensors. Functions of Python's `operator` and of torch's C++ are told alike; of numbers
# alone they are no operators.
_FAKE_CALL = re.compile(
    r"\b(?:call_function <built-in (?:function (\w+)|method (\w+) of type object[^\n>]*)>|call_method (\w+))"
    r"\(\*\((?=[^\n]*(?:Tensor|Parameter)\()"
)
# Of an operator by its own name: another one that is named after it is what its fake kernel calls.
_FAKE_OPERATOR = re.compile(r"\bcall_function ([a-z_]\w*\.[a-z_]\w*)(?:\.\w+)?\(\*\(")

# Innermost first: the file of a frame names the part that raised. Source: the layout of torch/_inductor and its neighbours.
_SUBSYSTEMS: tuple[tuple[str, str], ...] = (
    ("_inductor/decomposition", "decompositions"),
    ("torch/_decomp/", "decompositions"),
    ("torch/_refs/", "decompositions"),
    ("_inductor/lowering", "lowerings"),
    ("_inductor/kernel/", "kernel templates"),
    ("_inductor/select_algorithm", "autotuning"),
    ("_inductor/autotune_process", "autotuning"),
    ("_inductor/runtime/coordinate_descent_tuner", "autotuning"),
    ("_inductor/runtime/triton_", "Triton kernels"),
    ("_inductor/runtime/static_", "Triton kernels"),
    ("_inductor/runtime/compile_tasks.py:_reload_python_module", "code generation"),  # its Python is none
    ("_inductor/compile_worker/", "compile workers"),
    ("_higher_order_ops/triton_kernel_wrap", "the program's Triton kernels"),
    ("_inductor/fx_passes/", "fx passes"),
    ("_inductor/pattern_matcher", "fx passes"),
    ("_inductor/scheduler", "scheduler"),
    ("_inductor/codegen/", "code generation"),
    ("_inductor/cpp_builder", "C++ build"),
    ("_inductor/codecache", "C++ build"),
    ("_inductor/index_propagation", "index propagation"),
    ("_inductor/sizevars", "symbolic sizes"),
    ("_inductor/ir", "inductor IR"),
    ("_inductor/graph", "lowerings"),
    ("_inductor/cudagraph", "cudagraphs"),
    ("_functorch/partitioners", "partitioner"),
    ("_functorch/_aot_autograd/runtime_wrappers", "runtime wrappers"),
    ("_functorch/_aot_autograd/", "aot_autograd"),
    ("_functorch/aot_autograd", "aot_autograd"),
    ("_functorch/compile", "aot_autograd"),
    ("_functorch/_activation_", "aot_autograd"),
    ("_functorch/", "torch.func"),
    ("fx/experimental/symbolic_shapes", "symbolic shapes"),
    ("_subclasses/functional_tensor", "functionalization"),
    ("_subclasses/fake_tensor", FAKE_TENSORS),
    ("_dynamo/guards", "guards"),
    ("_dynamo/variables/", "variable tracking"),
    ("_dynamo/symbolic_convert", "bytecode"),
    ("_dynamo/", "dynamo"),
)
# They raise for the part of Inductor that traces something with them.
_CALLED_BY_PARTS = (FAKE_TENSORS, "functionalization")


@dataclass(frozen=True)
class Clues:
    """What is known of a failure beside its error and what the reduction left."""

    diverging: GraphNode | None = None  # the first operation of the program's own graph with which values differ
    first_wrong: GraphNode | None = None  # and the first of the reproducer whose result is wrong
    broken: Sequence[str] = ()  # custom operators that were seen to break what they promise, as `ns::name`
    # Whose kernel, fake kernel or lowering the exception came through, whatever that called in its turn, as `ns::name`.
    through: str | None = None
    given: GivenWrong | None = None  # the wrong value that the failure comes of; or one that only rounds otherwise
    fake: FakeWrong | None = None  # the operation whose fake result, not eager's, the failure was seen to come of
    decomposed: GraphNode | None = None  # the one of the reproducer without whose decomposition it passes
    any_operation: bool = False  # it fails as well with another one in the place of what is left, of a text all that is
    minimal: bool = True  # nothing can go from the reproducer: it needs what it holds
    # Not where a text was reduced, whose own check shows a wrong result, nor where a pass of the program's own fails, to which
    # the whole graph is given: the graph's order tells nothing then.
    by_itself: bool = True


def culprit_of(
    conclusion: Conclusion, reduced: GraphCase | None, graph: str | None, clues: Clues = Clues()
) -> Culprit | None:
    """The operation to name: what a fake result tells, else what the reduction left, else the error's own words.

    None where the machine is to blame: the operation that is left only has something built.
    """
    if not conclusion.stage.needs_compiling or conclusion.outcome is None:
        return None
    if lies_in_environment(conclusion.outcome, conclusion.stage):
        return None
    if (fake := clues.fake) is not None:
        return Culprit(fake.operation, graph, FAKE_TENSORS, f"{fake.sentence()}; with eager's in their place it passes")
    frames = conclusion.signature.frames if conclusion.signature and conclusion.stage is not Stage.BACKEND else ()
    subsystem = subsystem_of(frames)  # a backend of the program's own is called by Dynamo, which is not to blame
    error = conclusion.outcome.exception
    if conclusion.stage is Stage.INDUCTOR and subsystem in _CALLED_BY_PARTS:
        subsystem = _inductors_own(error) or subsystem
    unnamed = Culprit(None, graph, subsystem, None)
    left = _of_reduced(reduced, unnamed, clues, error) if reduced is not None and reduced.nodes else None
    if left is not None:
        return left
    if clues.through is not None:
        return replace(unnamed, op=clues.through.replace("::", "."), detail=_THROUGH)
    named = operators_in(error)
    if named:
        return replace(unnamed, op=named[0], detail=_NAMED)
    return unnamed if subsystem or graph else None


def _operator(target: str) -> str:
    """`shop.price.default` as `shop::price`."""
    return "::".join(target.split(".")[:2])


def _of_reduced(reduced: GraphCase, unnamed: Culprit, clues: Clues, error: RaisedException | None) -> Culprit | None:
    """Of the operations that the reduction left: the only one, else the most certain clue first, else the most telling."""
    targets = operators_of(reduced)
    if targets and clues.any_operation:
        left = f"{targets[0]}, {_ONLY}," if len(targets) == 1 else some(targets, MOST_SHOWN)
        return replace(unnamed, detail=f"none: with another one in the place of {left} it fails as well")
    if len(targets) == 1:
        return replace(unnamed, op=targets[0], detail=_ONLY)
    has = f"the reproducer {'needs' if clues.minimal else 'holds'}"

    def beside(op: str) -> str:
        return f"{has} {', '.join(target for target in targets[:MOST_SHOWN] if target != op)} as well"

    breaks = next((target for target in targets if _operator(target) in clues.broken), None)
    if breaks is not None:
        return replace(unnamed, op=breaks, detail=f"it breaks what it promises; {beside(breaks)}")
    passed = next((target for target in targets if _operator(target) == clues.through), None)
    if passed is not None:
        return replace(unnamed, op=passed, detail=f"{_THROUGH}; {has} {some(targets, MOST_SHOWN)}")
    if clues.given is not None:
        op = operator_name(clues.given.node)
        if clues.given.wrong is None:
            detail = f"no operation is wrong, {op} only rounds otherwise; {beside(op)}"
            return replace(unnamed, subsystem=None, detail=detail)
        return replace(unnamed, op=op, detail=f"it gives the wrong value that the failure comes of; {beside(op)}")
    if clues.diverging is not None and (op := operator_name(clues.diverging)) in targets:
        detail = f"the first in the program's graph whose values differ; {beside(op)}"
        return replace(unnamed, op=op, detail=detail)
    if clues.first_wrong is not None and (op := operator_name(clues.first_wrong)) in targets:
        return replace(unnamed, op=op, detail=f"the first in the reproducer whose result is wrong; {beside(op)}")
    if clues.decomposed is not None and (op := operator_name(clues.decomposed)) in targets:
        return replace(unnamed, op=op, detail=f"{_DECOMPOSED}; {beside(op)}")
    if not targets:
        return None
    named = operators_in(error)
    ends = clues.by_itself and (clues.minimal or _ends_in_the_last(reduced))
    telling = _most_telling(_calls_of(reduced), named, error, by_itself=ends)
    if telling is None and named:  # what one of the calls comes to: `addmm` of a linear layer
        return replace(unnamed, op=named[0], detail=f"{_NAMED}; {has} {some(targets, MOST_SHOWN)}")
    return replace(unnamed, op=telling, detail=f"{has} {some(targets, MOST_SHOWN)}")


def with_part(
    culprit: Culprit | None,
    search: SubsystemSearch | None,
    lowered: Sequence[str] = (),
    direction: str | None = None,
    *,
    any_operation: bool = False,
) -> Culprit | None:
    """With the part that the search named: it was run, and the frames of an error only tell where it came up.

    The operator whose decomposition is the guilty one is named where nothing else tells one. That of a backward pass is named by
    itself where the guilty lowering is its, or where it is the only one that is
    `lowered` in the reproducer and `direction` says that the failure lies there.
    """
    if search is None or not search.names:
        return culprit
    named = replace(culprit or Culprit(None), subsystem=" and ".join(search.names))
    if named.op is None:
        return named if any_operation else _decomposed(named, search)
    if search.names == ("lowerings",) and (guilty := _BACKWARD_NODE.fullmatch(search.what or "")):
        detail = f"the lowering to blame, of the backward pass of {named.op}"
        return replace(named, op=f"aten.{guilty.group(1)}", detail=detail)
    nodes = {match.group(1) for name in lowered if (match := _BACKWARD_NODE.fullmatch(name))}
    if direction == "backward" and named.detail == _ONLY and len(nodes) == 1:
        return replace(named, op=f"aten.{nodes.pop()}", detail=f"of the backward pass of {named.op}, {_ONLY}")
    return named


def _decomposed(unnamed: Culprit, search: SubsystemSearch) -> Culprit:
    """With the operator whose decomposition makes it fail."""
    op = guilty_decomposition(search)
    if op is None:
        return unnamed
    return replace(unnamed, op=op, detail="; ".join(filter(None, (_DECOMPOSED, unnamed.detail))))


def guilty_decomposition(search: SubsystemSearch) -> str | None:
    """The operator without whose decomposition the reproducer passes: `aten.normal` of `aten.normal.Tensor_Tensor`."""
    told = _OVERLOADED.fullmatch(search.what or "") if set(search.names) & set(_DECOMPOSING) else None
    return told.group(1) if told is not None else None


def operators_of(case: GraphCase) -> list[str]:
    """The operators of a case, each once, in the order in which they come first."""
    return list(dict.fromkeys(_calls_of(case)))


def _calls_of(case: GraphCase) -> list[str]:
    """The operator of each call, what it holds before it; not what only holds a graph, switches a mode, or picks."""
    bodies = {graph.name: graph.nodes for graph in case.subgraphs}

    def calls(nodes: Sequence[GraphNode]) -> Iterator[str]:
        several = {node.name for node in nodes if node.multi}
        for node in nodes:
            picks = node.target == "operator.getitem" and node.args[0] in [{"ref": name} for name in several]
            held = [bodies.pop(name) for name in trees.graphs([node.args, node.kwargs]) if name in bodies]
            for body in held:
                yield from calls(body)
            if not (picks or _only_holds(node) or _only_switches(node)):
                yield operator_name(node)

    return list(calls(case.nodes))


def _ends_in_the_last(case: GraphCase) -> bool:
    """Whether the last call is given what all the others make, in one step or several: it is the end of what was left."""
    given = {case.nodes[-1].name}
    for node in reversed(case.nodes):
        if node.name in given:
            given.update(node.reads)
    apart = [node for node in case.nodes if node.name not in given and not mutated(node)]
    return all(_only_holds(node) or _only_switches(node) for node in apart)


def _only_switches(node: GraphNode) -> bool:
    """Whether a call computes nothing: it switches a mode, or keeps the books of `torch.func`."""
    return is_context(node) or is_transform(node) or _MODE_SWITCH.search(node.target) is not None


def _only_holds(node: GraphNode) -> bool:
    """Whether a call does nothing but run the graphs that it is given."""
    higher = ".higher_order." in node.target and not _ONLY_HOLDS.search(node.target)
    return not higher and any(trees.graphs([node.args, node.kwargs]))


def _most_telling(
    calls: Sequence[str], named: Sequence[str], error: RaisedException | None, *, by_itself: bool
) -> str | None:
    """Of several operators the one that the error names, or in whose decomposition or lowering it was raised.

    Else the last, at which a chain ends that fails by itself; None where so many are left that the last one is there by chance.
    """
    functions = [frame.function for frame in reversed(error.innermost().frames)] if error is not None else []
    plain = {target.split(".")[1 if "." in target else 0].rstrip("_"): target for target in calls}
    for name in (*(name.split(".")[1] for name in named if "." in name), *functions):
        if name in plain:
            return plain[name]
    return calls[-1] if by_itself and len(set(calls)) <= MOST_BLAMED else None


def operator_name(node: GraphNode) -> str:
    """The operator behind a call, in the dispatcher's spelling: `aten.relu` for torch.relu, x.relu() and F.relu alike.

    What is several operators is left as it is called.
    """
    target = node.target
    for prefix in ("torch.ops.", "torch._ops."):
        if target.startswith(prefix):
            return target.removeprefix(prefix)
    if node.kind == "call_method":
        return f"aten.{method_operator(target)}"
    other = other_name(node)
    if other is not None:
        return other
    module, _, name = target.rpartition(".")
    if module == "operator":
        return f"aten.{_OPERATORS.get(name, name)}"
    return f"aten.{_PREFIXES[module]}{name}" if module in _PREFIXES else target


def operators_in(error: RaisedException | None) -> tuple[str, ...]:
    """Operator names in the text of an error, in the order of how directly they are named."""
    if error is None:
        return ()
    found: list[str] = []
    for level in (error, error.innermost()):
        for pattern in (_TARGET, _NODE):
            found += pattern.findall(level.message)
        found += [
            f"aten.{_OPERATORS.get(function, function) or of_torch or method_operator(method)}"
            for function, of_torch, method in _FAKE_CALL.findall(level.message[:4000])
        ]
        found += _FAKE_OPERATOR.findall(level.message[:4000])
        found += [name for name in _OPERATOR.findall(level.message[:4000]) if name.startswith(("aten", "prims"))]
        custom = [one or other for one, other in _CUSTOM.findall(level.message[:4000])]
        custom += _SCHEMA.findall(level.message[:4000])
        found += [name for name in custom if name.partition("::")[0] not in _CPP]
    return tuple(dict.fromkeys(name.replace("::", ".") for name in found))


def _inductors_own(error: RaisedException | None) -> str | None:
    """The part of Inductor that is innermost in the traceback of an error, whatever it called."""
    frames = map(torch_frame, reversed(error.innermost().frames)) if error is not None else ()
    return subsystem_of([frame for frame in frames if frame is not None and "/_inductor/" in frame])


def subsystem_of(frames: Sequence[str]) -> str | None:
    """The part inside the stage, from the frames of a signature (innermost first)."""
    for frame in frames:
        for mark, name in _SUBSYSTEMS:
            if mark in frame:
                return name
    return None
