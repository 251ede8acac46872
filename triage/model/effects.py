"""What an operation does beyond returning a value: it mutates an argument, opens and closes a context, or sets a state.

Known from names alone, because a captured graph holds names: PyTorch's convention that a trailing underscore means in
place, `operator.i*`, `operator.setitem`, an `out=` argument, and the pairs of calls that Dynamo writes for `torch.no_grad`
(`torch._C._set_grad_enabled`), `torch.autocast` and the functorch levels (torch/_dynamo/variables/ctx_manager.py).
"""

from __future__ import annotations

import re
from functools import cache

from triage.model import trees
from triage.model.graphcase import GraphNode
from triage.model.text import words

_INPLACE_OPERATORS = frozenset({
    "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift",
    "imatmul",
})  # fmt: skip
# Opener and closer of a context, by the end of their names. The closer may refer to the opener, or follow it as on a stack.
_PAIRS = (
    ("_enter_autocast", "_exit_autocast"),
    ("_enter_inference_mode", "_exit_inference_mode"),
    ("_saved_tensors_hooks_disable", "_saved_tensors_hooks_enable"),
    ("_vmap_increment_nesting", "_vmap_decrement_nesting"),
    ("_grad_increment_nesting", "_grad_decrement_nesting"),
    ("_jvp_increment_nesting", "_jvp_decrement_nesting"),
    ("_enter_dual_level", "_exit_dual_level"),
    ("_functionalization_increment_nesting", "_functionalization_decrement_nesting"),
)
# Collectives: the namespaces of torch/csrc/distributed/c10d/Functional.cpp; their operators return new tensors.
COLLECTIVES = ("_c10d_functional", "_c10d_functional_autograd")
# An operator of torch's own changes what its name says; of another nothing is known without its schema.
OWN_NAMESPACES = ("aten", "prims", "higher_order", *COLLECTIVES)
# All in which torch, or a library of its makers, defines operators. The agent has those of torch too (`capture/operators.py`).
REGISTERED_NAMESPACES = words(
    """
    _c10d_functional _c10d_functional_autograd _dtensor _inductor_debug _inductor_test _native _native_aot _quantized
    _test _torch_testing ao aten bucketing bundled c10d c10d_functional coor cplib debug_mode_ops debugprims device_mesh
    export flex_gemm flex_lib fsdp higher_order inductor inductor_prims mempool mkl mkldnn mkldnn_prepacked onednn onnx
    onnx_symbolic prepacked prim prims profiler quantization quantized quantized_decomposed rngprims semi_structured
    sparse static_runtime streams symm_mem torch_attn tr_c10d torchvision torchaudio
    """
)
# Operations whose result may share the storage of what they are called on.
VIEWS = words(
    """
    as_strided chunk contiguous detach diagonal expand expand_as flatten getitem hsplit imag mT movedim moveaxis narrow
    permute ravel real reshape select slice split split_with_sizes squeeze swapaxes swapdims t T tensor_split to transpose
    type unbind unflatten unfold unsqueeze view view_as view_as_complex view_as_real vsplit
    """
)
_OPENERS = dict(_PAIRS)
_CLOSERS = {closer: opener for opener, closer in _PAIRS}
_SETTER = re.compile(r"_?set_[a-z]\w*")
_OVERLOAD = re.compile(r"^torch\.ops\.(?P<space>[^.]+)\.(?P<name>[^.]+)(?:\.[^.]+)?$")


def operation(node: GraphNode) -> str:
    """The bare name of what a node calls: `add_` for `torch.ops.aten.add_.Tensor`, `linear` for `torch.nn.functional.linear`."""
    return _bare_name(node.target)


@cache  # a graph asks about the same few targets thousands of times
def _bare_name(target: str) -> str:
    found = _OVERLOAD.match(target)
    return found.group("name") if found else target.rsplit(".", 1)[-1]


def mutated(node: GraphNode) -> str | None:
    """The name of the value that a node changes in place, None where it changes nothing we know of."""
    out = trees.as_ref(node.kwargs.get("out"))
    if out is not None:
        return out
    name = operation(node)
    in_place = name.endswith("_") and not name.endswith("__")
    module = node.target.rpartition(".")[0].rpartition(".")[2]
    if module in ("operator", "_operator"):
        in_place = name in _INPLACE_OPERATORS or name == "setitem"
    if name in ("__setitem__", "__iadd__", "__imul__", "__isub__", "__itruediv__"):
        in_place = True
    if in_place and node.args:
        return trees.as_ref(node.args[0])
    return None


def changed(node: GraphNode) -> tuple[str, ...]:
    """The names of all values that a node may change: of an in-place operator on lists of tensors, all that stand in them."""
    target = mutated(node)
    if target is not None:
        return (target,)
    lists = [item for item in node.args if trees.as_ref(item) is None]
    return tuple(dict.fromkeys(trees.refs(lists))) if is_named_in_place(node) else ()


def viewed(node: GraphNode) -> str | None:
    """The name of the value that a node's result may be a view of, as the operation's name tells."""
    is_view = node.kind == "get_item" or operation(node).strip("_") in VIEWS
    return trees.as_ref(node.args[0]) if is_view and node.args else None


def is_named_in_place(node: GraphNode) -> bool:
    """Whether the name ends as those of PyTorch's in-place operators do. `operator.and_` is none."""
    name = operation(node)
    return name.endswith("_") and not name.endswith("__") and not node.target.startswith(("operator.", "_operator."))


def sets_grad_mode(node: GraphNode) -> bool | None:
    """The mode that a `_set_grad_enabled` call sets, None for any other node."""
    if operation(node) in ("_set_grad_enabled", "set_grad_enabled") and node.args and isinstance(node.args[0], bool):
        return node.args[0]
    return None


def sets_state(node: GraphNode) -> str | None:
    """The function that a node calls to set a state of torch's for all that follows (`set_default_dtype`), else None.

    Dynamo writes such a call into the graph among the operations that it is meant for. The grad mode has `sets_grad_mode`.
    """
    if node.kind != "call_function" or not node.target.startswith("torch.") or node.target.startswith("torch.ops."):
        return None
    name = operation(node)
    if _SETTER.fullmatch(name) is None or node.reads or any(node.out) or sets_grad_mode(node) is not None:
        return None
    return name


def opener_of(node: GraphNode) -> str | None:
    """For a node that closes a context, the bare name of the call that opens it."""
    return _CLOSERS.get(operation(node))


def opens(node: GraphNode) -> bool:
    return operation(node) in _OPENERS


def is_transform(node: GraphNode) -> bool:
    """Whether a node keeps the books of `torch.func`: levels, batch dimensions, dual numbers."""
    return node.target.startswith(("torch._C._functorch.", "torch._functorch."))


def is_context(node: GraphNode) -> bool:
    """Whether a node only switches a mode and computes nothing."""
    if opens(node) or opener_of(node) is not None:
        return True
    return sets_grad_mode(node) is not None or sets_state(node) is not None
