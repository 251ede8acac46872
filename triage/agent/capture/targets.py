"""The printable name of what a graph node calls.

A name is only given when it resolves, from its root module, back to the very object that the graph holds; anything else
(a user's function allowed into the graph, a lambda, a bound method of some object) is opaque, with the reason.
"""

from __future__ import annotations

import importlib
from typing import Any, Optional, Tuple

from .. import compat

_HOMES = (
    "torch", "torch.nn.functional", "torch._C._nn", "operator", "math", "builtins", "torch.linalg", "torch.fft",
    "torch.special", "torch._C._linalg", "torch._C._fft", "torch._C._special", "torch.Tensor", "torch._C",
    "torch.amp.autocast_mode", "torch.autograd.grad_mode", "torch.ops.higher_order",
)  # fmt: skip


# Built-in functions carry their module in their own name: `linalg_norm` is `torch.linalg.norm`.
_PREFIXES = (
    ("linalg_", "torch.linalg"),
    ("fft_", "torch.fft"),
    ("special_", "torch.special"),
    ("sparse_", "torch.sparse"),
)


def printable(target: Any) -> Tuple[str, str]:
    """(name, "") where the target can be named, ("", reason) where it cannot."""
    if isinstance(target, str):
        return target, ""
    if isinstance(target, compat.operator_types()):
        return "torch.ops." + str(target), ""
    for name in _candidates(target):
        if _is(resolve(name), target):
            return name, ""
    return "", "the graph calls %s, which no import reaches" % _describe(target)


def resolve(name: str) -> Optional[Any]:
    """The object a dotted name stands for, or None."""
    parts = name.split(".")
    value = None
    for count in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except Exception:
            continue
        try:
            for part in parts[count:]:
                value = getattr(value, part)
        except Exception:
            continue
        return value
    return None


def _candidates(target: Any):
    name = getattr(target, "__name__", None) or getattr(target, "_name", None)
    module = getattr(target, "__module__", None)
    qualified = getattr(target, "__qualname__", None)
    if isinstance(name, str) and module == "_operator":
        yield "operator." + name
    if isinstance(name, str):
        for prefix, home in _PREFIXES:
            if name.lstrip("_").startswith(prefix):
                yield home + "." + name.lstrip("_")[len(prefix) :]
    if isinstance(name, str) and isinstance(module, str):
        public = module.partition("._")[0]  # of `torch.masked._ops`
        if public.startswith("torch."):
            yield public + "." + name
    if isinstance(name, str) and module in _HOMES:
        yield module + "." + name
    if isinstance(name, str):
        for home in _HOMES:
            yield home + "." + name
    # Only torch's own modules are importable wherever the script will run.
    if isinstance(module, str) and module.split(".")[0] in ("torch", "builtins", "math"):
        for tail in (qualified, name):
            if isinstance(tail, str) and "<" not in tail:
                yield module + "." + tail


def _is(found: Any, target: Any) -> bool:
    if found is None:
        return False
    if found is target:
        return True
    try:  # bound methods of torch._C._VariableFunctions are made anew at each access
        return type(found) is type(target) and bool(found == target)
    except Exception:
        return False


def _describe(target: Any) -> str:
    module = getattr(target, "__module__", None)
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    if name:
        return "%s.%s" % (module, name) if module else str(name)
    return "an object of type %s" % type(target).__name__
