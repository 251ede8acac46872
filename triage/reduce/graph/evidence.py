"""Which operations of a graph the failure itself points at.

Evidence is text: an operator name in the error (`aten.lerp.Scalar`), a node's name, or the user's line. A graph holds either
ATen overloads or the calls a person wrote, so names are compared after taking off what PyTorch adds (leading underscores,
`native_`, `_backward`, the trailing underscore of in-place forms), and through the table of operators whose ATen name differs
from every spelling a person uses (torch/_decomp/decompositions.py, torch/_refs and native_functions.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from triage.model.effects import operation
from triage.model.graphcase import GraphNode
from triage.model.text import words
from triage.reduce.graph.wiring import Wiring

_SPELLINGS: dict[str, tuple[str, ...]] = {
    "addmm": ("linear", "matmul"),
    "mm": ("matmul", "linear", "einsum"),
    "bmm": ("matmul", "einsum", "baddbmm"),
    "baddbmm": ("matmul", "einsum"),
    "convolution": ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    **dict.fromkeys(words("index select"), ("getitem",)),
    **dict.fromkeys(words("index_put copy"), ("setitem",)),
    "slice": ("getitem", "narrow"),
    "view": ("reshape", "flatten", "unflatten"),
    "unsafe_view": ("view", "reshape"),
    "clone": ("contiguous", "reshape"),
    "to_copy": ("to", "float", "half", "bfloat16", "double", "long", "int", "bool", "type"),
    "t": ("T", "linear"),
    "permute": ("transpose", "movedim", "T", "mT"),
    "softmax": ("cross_entropy", "scaled_dot_product_attention"),
    **dict.fromkeys(words("log_softmax nll_loss"), ("cross_entropy",)),
    **dict.fromkeys(words("nll_loss_forward nll_loss2d_forward nll_loss2d"), ("nll_loss", "cross_entropy")),
    **dict.fromkeys(
        words(
            "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d "
            "upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d upsample_bicubic2d_aa"
        ),
        ("interpolate",),
    ),
    **dict.fromkeys(words("grid_sampler_2d grid_sampler_3d"), ("grid_sample",)),
    "max_pool2d_with_indices": ("max_pool2d",),
    "max_pool3d_with_indices": ("max_pool3d",),
    **dict.fromkeys(words("constant_pad_nd reflection_pad2d replication_pad2d"), ("pad",)),
    **dict.fromkeys(
        words(
            "scaled_dot_product_flash_attention_for_cpu scaled_dot_product_flash_attention "
            "scaled_dot_product_efficient_attention"
        ),
        ("scaled_dot_product_attention",),
    ),
    "embedding_dense": ("embedding",),
    "linalg_vector_norm": ("norm", "vector_norm"),
    "div": ("truediv", "true_divide"),
    "floor_divide": ("floordiv",),
    "remainder": ("mod", "remainder"),
    "bitwise_and": ("and_", "and"),
    "bitwise_or": ("or_", "or"),
    "bitwise_xor": ("xor",),
    "bitwise_not": ("invert", "inv"),
    "full": ("zeros", "ones", "full_like", "zeros_like", "ones_like", "new_full", "new_zeros", "new_ones"),
    "split_with_sizes": ("split", "chunk"),
    "cat": ("concat", "hstack", "vstack"),
    "arange": ("arange",),
    "threshold": ("relu",),
}
_OPERATOR = re.compile(r"(?:torch\.ops\.)?(?P<space>[A-Za-z_]\w*)\.(?P<name>\w+)(?:\.(?P<overload>\w+))?$")


def suspects(wiring: Wiring, evidence: Sequence[str]) -> list[str]:
    """The units that some piece of evidence points at, the surest first, then in the order of the evidence."""
    scored: list[tuple[int, int, int, str]] = []
    for place, unit in enumerate(wiring.units):
        node = wiring.nodes[unit]
        scores = [(points(node, text), -rank) for rank, text in enumerate(evidence)]
        score, rank = max(scores, default=(0, 0))
        if score:
            scored.append((-score, -rank, place, unit))
    return [unit for *_, unit in sorted(scored)]


def points(node: GraphNode, text: str) -> int:
    """How surely evidence means a node: 4 its overload or own name, 3 its operator, 2 its line, 1 a spelling of it."""
    target = node.target.removeprefix("torch.ops.")
    if text in (node.name, target, node.target):
        return 4
    wanted, own = _bare(_operator(text)), _bare(operation(node))
    if not wanted:
        place = node.where.split(" ", 1)[0]  # file:line
        return 2 if place and re.search(rf"(?<!\w){re.escape(place)}\b", text) else 0
    if own == wanted:
        return 3
    return 1 if own in _spellings(wanted) else 0


def _operator(text: str) -> str:
    """`lerp` for aten.lerp.Scalar, aten.lerp or lerp; empty where the text is no operator's name."""
    found = _OPERATOR.match(text)
    if found:
        return found.group("name")
    return text if text.isidentifier() else ""


def _bare(name: str) -> str:
    name = name.strip("_").removeprefix("native_")
    for ending in ("_backward", "_default", "_functional"):
        name = name.removesuffix(ending)
    return name


def _spellings(wanted: str) -> Iterable[str]:
    yield from _SPELLINGS.get(wanted, ())
    yield from _SPELLINGS.get(f"{wanted}_forward", ())
    if wanted.startswith("unsafe_"):
        yield wanted.removeprefix("unsafe_")
