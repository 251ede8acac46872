"""Arguments of graph nodes as JSON: the tagged objects that `triage.model.graphcase` defines.

What has no spelling becomes `{"opaque": reason}`; the caller makes the whole node opaque then.
"""

from __future__ import annotations

import enum
import math
from typing import Any, Callable, Dict, List

from .. import compat
from .values import data, hint, is_tensor, name_of, number, symbol


class Arguments:
    """Encodes argument trees. `reference` answers for a graph node, `symbols` maps a symbol to the name of its value."""

    def __init__(self, reference: Callable[[Any], Any], symbols: Dict[str, str]) -> None:
        self.reference = reference
        self.symbols = symbols
        self.reasons: List[str] = []
        self.operators: List[Any] = []  # operators that are arguments of others

    def encode(self, value: Any) -> Any:
        """The JSON form of one argument."""
        import torch
        import torch.fx

        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": number(value)}
        if isinstance(value, complex):
            return {"complex": [number(value.real), number(value.imag)]}
        if isinstance(value, torch.fx.Node):
            return self.reference(value)
        if isinstance(value, (torch.SymInt, torch.SymFloat, getattr(torch, "SymBool", torch.SymInt))):
            text = symbol(value)
            return {"ref": self.symbols[text]} if text in self.symbols else hint(value)
        if isinstance(value, torch.Size) or type(value) is tuple:
            return {"tuple": [self.encode(item) for item in value]}
        if isinstance(value, tuple):  # a named tuple, as torch's own return types are
            return {"tuple": [self.encode(item) for item in value]}
        if isinstance(value, list):
            return [self.encode(item) for item in value]
        if isinstance(value, dict):
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if isinstance(value, slice):
            return {"slice": [self.encode(value.start), self.encode(value.stop), self.encode(value.step)]}
        if value is Ellipsis:
            return {"ellipsis": True}
        return self._torch_value(value)

    def _torch_value(self, value: Any) -> Any:
        import torch

        for kind, tag in ((torch.dtype, "dtype"), (torch.layout, "layout"), (torch.memory_format, "memory_format")):
            if isinstance(value, kind):
                return {tag: name_of(value)}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if is_tensor(value):
            return self._tensor(value)
        if isinstance(value, compat.operator_types()):
            self.operators.append(value)
            return {"code": "torch.ops." + str(value)}
        if isinstance(value, range):
            return {"code": repr(value)}
        if isinstance(value, enum.Enum) and type(value).__module__.split(".")[0] == "torch":
            return {"code": "%s.%s.%s" % (type(value).__module__, type(value).__qualname__, value.name)}
        return self._opaque("an argument of type %s" % _type_name(value))

    def _tensor(self, value: Any) -> Any:
        elements = data(value, 1)
        if value.dim() == 0 and isinstance(elements, (bool, int, float)):
            return {"code": "torch.tensor(%r, dtype=%s)" % (elements, value.dtype)}
        return self._opaque("a tensor held by the graph as an argument")

    def _opaque(self, reason: str) -> Any:
        self.reasons.append(reason)
        return {"opaque": reason}


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else "%s.%s" % (kind.__module__, kind.__qualname__)
