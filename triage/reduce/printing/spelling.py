"""One graph node as a Python expression.

`Speller` turns the JSON arguments of `GraphCase` into text and a node into the expression a person would write for it
(`nice`), or into the very call that was recorded. It knows nothing of statements, names or scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from triage.model.graphcase import GraphNode, TensorMeta
from triage.reduce.printing import spelling_table as table

ATOM = 20  # names, calls, subscripts, attributes
UNARY = 10
_OWN = ("prims", "higher_order")
OPEN_END = 9223372036854775807  # how ATen writes "to the end" of a slice


class Unprintable(ValueError):  # noqa: N818 - a property of the case, not a mistake
    """The case cannot be printed; the message says why."""


@dataclass(frozen=True)
class Expression:
    """Python text with the binding strength of its outermost operator. `before` are functions to define first."""

    text: str
    strength: int = ATOM
    before: str = ""

    def inside(self, strength: int) -> str:
        """The text, in parentheses where it stands beside an operator that binds tighter."""
        return self.text if self.strength >= strength else f"({self.text})"


@dataclass(frozen=True)
class Speller:
    """`scope` gives the expression of a value by its name, `meta` what is known of it, `functions` of a sub-graph."""

    scope: Mapping[str, Expression]
    functions: Mapping[str, str]
    meta: Callable[[str], TensorMeta | None]
    nice: bool = True

    def argument(self, value: Any) -> Expression:
        """The expression of one argument. Raises Unprintable for opaque ones and for references to nothing."""
        if isinstance(value, list):
            return Expression("[" + ", ".join(self.argument(item).text for item in value) + "]")
        if isinstance(value, dict):
            return self._tagged(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
            return Expression(repr(value), UNARY)
        return Expression(_quoted(value) if isinstance(value, str) else repr(value))

    def _tagged(self, value: dict[str, Any]) -> Expression:
        tag, content = next(iter(value.items()))
        if tag == "ref":
            if content not in self.scope:
                raise Unprintable(f"the value {content} is used but not made")
            return self.scope[content]
        if tag == "tuple":
            items = [self.argument(item).text for item in content]
            return Expression("(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")")
        if tag == "slice":
            return Expression("slice(" + ", ".join(self.argument(item).text for item in content) + ")")
        if tag == "dict":
            pairs = (f"{self.argument(key).text}: {self.argument(item).text}" for key, item in content)
            return Expression("{" + ", ".join(pairs) + "}")
        if tag in ("dtype", "layout", "memory_format"):
            return Expression(f"torch.{content}")
        if tag == "device":
            return Expression(f'torch.device("{content}")')
        if tag == "float":
            return Expression(f'float("{content}")')
        if tag == "complex":
            real, imag = (self.argument({"float": part} if isinstance(part, str) else part) for part in content)
            return Expression(f"complex({real.text}, {imag.text})")
        if tag == "ellipsis":
            return Expression("...")
        if tag == "graph":
            if content not in self.functions:
                raise Unprintable(f"the nested graph {content} is missing")
            return Expression(self.functions[content])
        if tag == "code":
            return Expression(content)
        raise Unprintable(str(content) if tag == "opaque" else f"an argument of kind {tag}")

    def node(self, node: GraphNode) -> Expression:
        """The expression of a node that has a value. Raises Unprintable where it has none."""
        if node.opaque:
            raise Unprintable(node.opaque)
        if node.kind == "get_item":
            return self._item(node.args[0], node.args[1])
        if node.target.startswith("torch.ops.aten.lift_fresh") and node.args:
            return self.argument(node.args[0])  # marks a tensor constant; written in the function, it is one again
        if node.kind == "call_method":
            return self._method(node.target, node.args, node.kwargs)
        nice = self._nice(node) if self.nice else None
        return nice if nice is not None else self._exact(node)

    def _exact(self, node: GraphNode) -> Expression:
        if node.target == "operator.getitem":
            return self._item(*node.args)
        return self.call(node.target.removeprefix("builtins."), node.args, node.kwargs)

    def call(self, function: str, args: list[Any], kwargs: Mapping[str, Any]) -> Expression:
        parts = [self.argument(item).text for item in args]
        parts += [f"{key}={self._keyword(item)}" for key, item in kwargs.items()]
        return Expression(f"{function}({', '.join(parts)})")

    def _keyword(self, value: Any) -> str:
        if isinstance(value, dict) and "device" in value:
            return f'"{value["device"]}"'
        return self.argument(value).text

    def _method(self, name: str, args: list[Any], kwargs: Mapping[str, Any]) -> Expression:
        if not args:
            raise Unprintable(f"the method {name} is called on nothing")
        receiver = self.argument(args[0]).inside(ATOM)
        if name == "size" and len(args) == 2 and not kwargs and self.nice:
            return Expression(f"{receiver}.shape[{self.argument(args[1]).text}]")
        rest = self.call("", args[1:], kwargs).text
        return Expression(f"{receiver}.{name}{rest}")

    def _item(self, value: Any, index: Any) -> Expression:
        return Expression(f"{self.argument(value).inside(ATOM)}[{self.subscript(index)}]")

    def subscript(self, index: Any) -> str:
        """What stands between the brackets: `1:, ::2`."""
        if isinstance(index, dict) and "tuple" in index and index["tuple"]:
            items = [self.subscript(item) for item in index["tuple"]]
            return ", ".join(items) + ("," if len(items) == 1 else "")
        if isinstance(index, dict) and "slice" in index:
            start, stop, step = ("" if item is None else self.argument(item).text for item in index["slice"])
            return f"{start}:{stop}" + (f":{step}" if step else "")
        return self.argument(index).text

    def binary(self, name: str, left: Any, right: Any) -> Expression:
        symbol, strength = table.BINARY[name]
        # Comparisons do not chain here and ** binds to the right, where it takes a sign; all others bind to the left.
        before = strength + 1 if strength == 3 or name == "pow" else strength
        after = strength + 1 if name != "pow" else UNARY
        text = f"{self.argument(left).inside(before)} {symbol} {self.argument(right).inside(after)}"
        return Expression(text, strength)

    def _nice(self, node: GraphNode) -> Expression | None:
        target, args, kwargs = node.target, node.args, node.kwargs
        if target.startswith("operator."):
            name = target.removeprefix("operator.")
            if name in table.BINARY and len(args) == 2 and not kwargs:
                return self.binary(name, *args)
            if name in table.UNARY and len(args) == 1 and not kwargs:
                return Expression(table.UNARY[name] + self.argument(args[0]).inside(UNARY), UNARY)
        if target in ("builtins.getattr", "getattr") and len(args) == 2 and isinstance(args[1], str):
            return Expression(f"{self.argument(args[0]).inside(ATOM)}.{args[1]}")
        if target.startswith("builtins."):
            return self.call(target.removeprefix("builtins."), args, kwargs)
        if target.startswith("torch._C._nn.") and target.rsplit(".", 1)[1] in table.FUNCTIONAL:
            return self.call("F." + table.FUNCTIONAL[target.rsplit(".", 1)[1]], args, kwargs)
        if target.startswith("torch.nn.functional."):
            return self.call("F." + target.removeprefix("torch.nn.functional."), args, kwargs)
        if target.startswith("torch.Tensor.") and args:
            return self._method(target.removeprefix("torch.Tensor."), args, kwargs)
        if target.startswith("torch.ops.aten."):
            return self._aten(node)
        if target.startswith("torch.ops.prims."):
            return self._prims(node)
        if target.startswith("torch.ops.") and target.endswith(".default") and target.split(".")[2] not in _OWN:
            return self.call(target.removesuffix(".default"), args, kwargs)
        return None

    def _aten(self, node: GraphNode) -> Expression | None:
        operator = node.target.removeprefix("torch.ops.aten.")
        name = operator.split(".")[0]
        args = node.args
        kwargs = {key: item for key, item in node.kwargs.items() if item not in table.DEFAULT_KEYWORDS.get(key, ())}
        if "device" in node.kwargs and any(self._is_elsewhere(item) for item in args):
            kwargs["device"] = node.kwargs["device"]  # without it, that of what is copied or imitated
        if operator in table.ONLY_ATEN:
            return None
        if operator in table.ATEN_BINARY and len(args) == 2 and not kwargs:
            return self.binary(table.ATEN_BINARY[operator], *args)
        if operator in table.ATEN_UNARY and len(args) == 1 and not kwargs:
            return Expression(table.UNARY[table.ATEN_UNARY[operator]] + self.argument(args[0]).inside(UNARY), UNARY)
        if name in table.METHODS and args:
            return self._method(name, args, kwargs)
        if name in table.F_FUNCTIONS:
            return self.call("F." + name, args, kwargs)
        if name in table.TORCH_FUNCTIONS and not any(isinstance(item, list) and None in item for item in args):
            return self.call("torch." + name, args, kwargs)
        return self._rewritten(operator, args, kwargs)

    def _is_elsewhere(self, value: Any) -> bool:
        """Whether it is a tensor on another device than the CPU."""
        meta = self.meta(_reference(value))
        return meta is not None and meta.device != "cpu"

    def _prims(self, node: GraphNode) -> Expression | None:
        """What Inductor's first passes put into ATen graphs, as what it came from."""
        name, args, kwargs = node.target.removeprefix("torch.ops.prims."), node.args, node.kwargs
        if name == "convert_element_type.default" and len(args) == 2:
            source = self.meta(_reference(args[0]))
            if source is not None and args[1] != {"dtype": source.dtype}:
                return self._method("to", args, {})
        if name == "iota.default" and len(args) == 1 and kwargs.get("start") == 0 and kwargs.get("step") == 1:
            rest = {key: item for key, item in kwargs.items() if key in ("dtype", "device")}
            rest = {key: item for key, item in rest.items() if item not in ({"dtype": "int64"}, {"device": "cpu"})}
            return self.call("torch.arange", args, rest)
        if name == "inductor_random.default" and len(args) == 3 and args[2] in ("rand", "randn"):
            meta = next(iter(node.out), None)
            device = {} if meta is None or meta.device == "cpu" else {"device": {"device": meta.device}}
            return self.call(f"torch.{args[2]}", args[:1], device)
        return None

    def _rewritten(self, operator: str, args: list[Any], kwargs: dict[str, Any]) -> Expression | None:
        """Operators whose torch form has other arguments."""
        if operator == "slice.Tensor" and not kwargs and len(args) >= 2 and isinstance(args[1], int):
            bounds: tuple[Any, ...] = (None, None, 1)
            start, stop, step = (*args[2:], *bounds[len(args) - 2 :])
            stop = None if stop == OPEN_END else stop
            start = None if start == 0 else start
            step = None if step == 1 else step
            return self._along(args[0], args[1], {"slice": [start, stop, step]})
        if operator == "select.int" and not kwargs and len(args) == 3 and isinstance(args[1], int):
            return self._along(args[0], args[1], args[2])
        if (
            operator in ("_softmax.default", "_log_softmax.default")
            and len(args) == 3
            and args[2] is False
            and not kwargs
        ):
            return self.call("torch." + operator.split(".")[0].removeprefix("_"), args[:2], {})
        if operator == "_to_copy.default" and len(args) == 1 and set(kwargs) == {"dtype"}:
            source = self.meta(_reference(args[0]))
            if source is not None and kwargs["dtype"] != {"dtype": source.dtype}:
                return self._method("to", [args[0], kwargs["dtype"]], {})
        if operator == "index.Tensor" and len(args) == 2 and isinstance(args[1], list) and not kwargs:
            indices = [{"slice": [None, None, None]} if item is None else item for item in args[1]]
            return self._item(args[0], {"tuple": indices} if len(indices) > 1 else indices[0])
        if operator == "_unsafe_view.default" and len(args) == 2 and not kwargs:
            return self._method("view", args, {})
        return None

    def _along(self, value: Any, dim: int, index: Any) -> Expression | None:
        """`value` indexed along one dimension: x[:, index]. Only readable for the first few dimensions."""
        if dim < 0:
            meta = self.meta(_reference(value))
            if meta is None:
                return None
            dim += len(meta.shape)
        if not 0 <= dim <= 3:
            return None
        whole = {"slice": [None, None, None]}
        return self._item(value, {"tuple": [*[whole] * dim, index]} if dim else index)


def _reference(value: Any) -> str:
    return str(value.get("ref", "")) if isinstance(value, dict) else ""


def _quoted(text: str) -> str:
    return '"' + repr(text)[1:-1].replace('"', '\\"') + '"' if "'" not in text else repr(text)
