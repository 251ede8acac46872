"""Functions of PyTorch whose operator has another name than they: a table, and what depends on arguments.

Functions that are several operators (F.normalize) have none, and keep the name they are called by. The names are those of
torch/nn/functional.py and torch/_tensor.py.
"""

from __future__ import annotations

from triage.model.graphcase import GraphNode
from triage.model.text import words

_FUNCTIONAL = "torch.nn.functional"
_RENAMED = {
    f"{_FUNCTIONAL}.{name}": operator
    for name, operator in {
        "adaptive_max_pool1d_with_indices": "adaptive_max_pool1d",
        "adaptive_max_pool2d_with_indices": "adaptive_max_pool2d",
        "adaptive_max_pool3d_with_indices": "adaptive_max_pool3d",
        "affine_grid": "affine_grid_generator",
        "cross_entropy": "cross_entropy_loss",
        "dropout1d": "feature_dropout",
        "dropout2d": "feature_dropout",
        "dropout3d": "feature_dropout",
        "fold": "col2im",
        "fractional_max_pool2d_with_indices": "fractional_max_pool2d",
        "fractional_max_pool3d_with_indices": "fractional_max_pool3d",
        "logsigmoid": "log_sigmoid",
        "max_unpool1d": "max_unpool2d",
        "unfold": "im2col",
    }.items()
} | {"torch.unique": "_unique2"}
_SEVERAL = frozenset(
    f"{_FUNCTIONAL}.{name}"
    for name in words(
        "gaussian_nll_loss gumbel_softmax local_response_norm lp_pool1d lp_pool2d lp_pool3d "
        "multi_head_attention_forward multilabel_soft_margin_loss normalize softmin softsign tanhshrink "
        "triplet_margin_with_distance_loss"
    )
)
_CASTS = (
    "bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short", "type",
)  # fmt: skip
_BY_VALUES = frozenset(("ref", "list", "bool"))  # parts of an index that make more of it than a view
_METHODS = {"nelement": "numel", "ndimension": "dim", "unique": "_unique2"}
_RESIZED = {"linear": "linear1d", "bilinear": "bilinear2d", "trilinear": "trilinear3d", "bicubic": "bicubic2d"}


def method_operator(name: str) -> str:
    """The operator behind a method: `to` for `x.float()`."""
    return "to" if name in _CASTS else _METHODS.get(name, name)


def other_name(node: GraphNode) -> str | None:
    """The operator behind a function that has another name; None where the name is the operator's.

    >>> other_name(GraphNode("y", "call_function", "torch.nn.functional.fold"))
    'aten.col2im'
    """
    if node.target in _SEVERAL:
        return node.target
    if node.target == "operator.getitem":
        return _picked(node.args[1]) if len(node.args) > 1 else None
    if node.target == "operator.setitem":
        return _put(*node.args[1:3]) if len(node.args) > 2 else None
    if node.target in (f"{_FUNCTIONAL}.interpolate", f"{_FUNCTIONAL}.upsample"):
        return _resized(node)
    if node.target == f"{_FUNCTIONAL}.grid_sample":
        return f"aten.grid_sampler{_dimensions(node, '_')}"
    return f"aten.{_RENAMED[node.target]}" if node.target in _RENAMED else None


def _picked(index: object) -> str:
    """`x[0]` selects, `x[1:]` slices, `x[None]` unsqueezes, `x[rows]` indexes; of several the one that does most."""
    tags = _tags(index)
    if tags & _BY_VALUES:
        return "aten.index"
    views = (("int", "select"), ("slice", "slice"), ("NoneType", "unsqueeze"), ("ellipsis", "alias"))
    return next((f"aten.{name}" for tag, name in views if tag in tags), "aten.index")


def _put(index: object, value: object) -> str:
    """`x[rows] = y` puts by index; into what is a view of `x` a tensor is copied, and a number fills it."""
    if _tags(index) & _BY_VALUES:
        return "aten.index_put_"
    return "aten.copy_" if isinstance(value, dict) and "ref" in value else "aten.fill_"


def _tags(index: object) -> set[str]:
    parts = index.get("tuple", [index]) if isinstance(index, dict) else [index]
    return {next(iter(part), "") if isinstance(part, dict) else type(part).__name__ for part in parts}


def _resized(node: GraphNode) -> str:
    """Of an interpolation, by its mode; as it is called where that is not a plain word."""
    mode = node.kwargs.get("mode", node.args[3] if len(node.args) > 3 else "nearest")
    smooth = "_aa" if node.kwargs.get("antialias") is True else ""
    places = _dimensions(node)
    if not isinstance(mode, str):
        return node.target
    if mode in _RESIZED:
        return f"aten.{'_' if smooth else ''}upsample_{_RESIZED[mode]}{smooth}"
    if places and mode == "nearest":
        return f"aten.upsample_nearest{places}"
    if places and mode == "nearest-exact":
        return f"aten._upsample_nearest_exact{places}"
    if places and mode == "area":
        return f"aten.adaptive_avg_pool{places}"
    return node.target


def _dimensions(node: GraphNode, before: str = "") -> str:
    """`2d` for a result with a batch, channels and two dimensions more; empty where its shape is not known."""
    meta = node.out[0] if node.out else None
    count = len(meta.shape) - 2 if meta is not None else 0
    return f"{before}{count}d" if count > 0 else ""
