"""A captured graph as plain data.

A `GraphCase` is what the agent writes when a graph fails to compile or to run, and what the graph reducer edits. Its
*printed form* (`triage.reduce.printing.printer`) is the script that is run, judged and reported; this module only holds the data.

Arguments of a node are JSON values in which a reference to another value is a tagged object, one key each:

* `{"ref": "x"}`: the value called x (an input or an earlier node),
* `{"tuple": [...]}`, `{"slice": [start, stop, step]}`, `{"dict": [[key, value], ...]}`, lists are JSON lists,
* `{"dtype": "float32"}`, `{"device": "cpu"}`, `{"layout": "strided"}`, `{"memory_format": "channels_last"}`,
* `{"float": "nan"}` (also inf, -inf), `{"complex": [re, im]}`, `{"ellipsis": true}`, `{"graph": "body_0"}` (a sub-graph),
* `{"code": "torch.float16"}`: any other expression that prints as it stands; `{"opaque": "reason"}`: cannot be printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from triage.model import trees


@dataclass(frozen=True)
class TensorMeta:
    """Shape, stride (in elements), dtype name without `torch.`, device, and autograd state of one tensor.

    `symbols` names the symbolic sizes of dynamic dimensions, e.g. {0: "s0"}; `shape` then holds the sizes as seen. `lazy`
    is what autograd left undone to its elements: conj, neg, zero (no storage at all), or nothing.
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    device: str = "cpu"
    requires_grad: bool = False
    storage_offset: int = 0
    symbols: dict[str, str] = field(default_factory=dict)
    layout: str = "strided"
    lazy: str = ""


@dataclass(frozen=True)
class GraphInput:
    """One input of the graph.

    `kind` is tensor, int, float, bool or opaque; `role` input, parameter, buffer, constant or gradient. `value` holds the
    number of a scalar. `fill` says how a tensor's values are made: randn, rand, zeros, ones, arange, full:NUMBER (as Python
    writes it), randint:LOW:HIGH, linspace:LOW:HIGH, uniform:LOW:HIGH, empty, values; with `values`, `data` is the nested
    list of its elements (numbers, or the strings nan, inf, -inf). `base` names an earlier input of whose storage this one
    is a view; `view_of` is the tensor that autograd has it be a view of, which need not be an input. `parameter` inputs are
    leaves that require grad. One of role `gradient` is no argument: a backward pass begins with it, at the output
    `gradient_of`; where there is none, with ones.
    """

    name: str
    kind: str = "tensor"
    meta: TensorMeta | None = None
    role: str = "input"
    value: Any = None
    fill: str = "randn"
    data: Any = None
    base: str | None = None
    view_of: TensorMeta | None = None
    source: str = ""  # what the script calls it, e.g. L['self'].lin.weight
    gradient_of: str | None = None

    @property
    def recorded(self) -> bool:
        """Whether its elements are those that the program had."""
        return self.fill == "values" and self.role != "constant"


@dataclass(frozen=True)
class GraphNode:
    """One operation.

    `kind` is call_function, call_method or get_item; `target` is its printable name: `torch.relu`,
    `torch.nn.functional.linear`, `operator.add`, `torch.ops.aten.relu.default`, or the method's name. `out` is the
    meta of its result: one TensorMeta, or a list for several (None where it is not a tensor). `where` is the user's
    line that made it, `module` the module of the program that does it (`layers.1.ff.1 (ReLU)`). An `opaque` node cannot be
    printed, for the reason given. `data` are the elements its result was seen to have, where that is one small tensor and
    somebody looked (`triage.reduce.graph.observe`); `gradient` those of the gradient that arrived at it.
    """

    name: str
    kind: str
    target: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    out: list[TensorMeta | None] = field(default_factory=list)
    multi: bool = False  # the result is a tuple or list of tensors
    where: str = ""
    module: str = ""
    opaque: str = ""
    data: Any = None
    gradient: Any = None

    @property
    def tensor(self) -> TensorMeta | None:
        """The meta of a result that is exactly one tensor; None of any other."""
        return self.out[0] if len(self.out) == 1 and not self.multi else None

    @property
    def module_names(self) -> tuple[str, ...]:
        """The names on the way to its module, outermost first: `layers`, `ff` of `layers.1.ff.1 (ReLU)`."""
        return tuple(name for name in self.module.partition(" (")[0].split(".") if name.isidentifier())

    @property
    def reads(self) -> list[str]:
        """The values it reads, in order, with repetitions."""
        return [*trees.refs(self.args), *trees.refs(self.kwargs)]

    def rewritten(self, change: Callable[[str], Any]) -> GraphNode:
        """The operation with what `change` gives for each value in the place of that."""
        return replace(self, args=trees.rewrite(self.args, change), kwargs=trees.rewrite(self.kwargs, change))

    def rewired(self, replaced: Mapping[str, Any]) -> GraphNode:
        """The operation with other values in the place of those named."""
        return self.rewritten(lambda name: replaced.get(name, trees.ref(name)))


@dataclass(frozen=True)
class SubGraph:
    """A nested function: the body of torch.cond, of an autograd.Function, of a checkpoint. Inputs are positional.

    `metas` says what was recorded of each input; empty where nothing was.
    """

    name: str
    inputs: tuple[str, ...]
    nodes: tuple[GraphNode, ...]
    outputs: Any  # JSON tree of argument values
    metas: tuple[TensorMeta | None, ...] = ()


@dataclass(frozen=True)
class Context:
    """The state the graph ran under. `config` are config lines as written, `autocast` (device type, dtype name)."""

    grad_enabled: bool = True
    inference_mode: bool = False
    autocast: tuple[str, ...] = ()
    deterministic: bool = False
    config: tuple[str, ...] = ()
    dynamic: bool | None = None
    fullgraph: bool = False
    mode: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Effect:
    """A statement of the program's own that does something to torch, and where it stands (`file:line`)."""

    text: str
    place: str


@dataclass(frozen=True)
class GraphCase:
    """A whole captured graph, in topological order.

    `level` is dynamo (the user's torch.* calls) or aten. `preamble` is source text that must come first (custom operator
    registrations, imports), in order. `backward` says that the failure needs a backward pass.
    """

    level: str
    inputs: tuple[GraphInput, ...]
    nodes: tuple[GraphNode, ...]
    outputs: tuple[Any, ...]
    graph_id: str = "0/0"
    direction: str = "forward"
    backward: bool = False
    backward_order: int = 1  # 2: the gradient itself is differentiated (create_graph=True)
    context: Context = field(default_factory=Context)
    preamble: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()  # the same with all else that the program's own files did to torch, empty where nothing
    effects: tuple[Effect, ...] = ()  # of these the statements that have an effect
    prepared: bool = False  # the preamble is that: all of it is needed, whatever operators are left
    subgraphs: tuple[SubGraph, ...] = ()
    backend: str = "inductor"
    own_backend: tuple[str, ...] = ()  # of the program's own: an expression for it, then the statements that this needs
    backend_code: str = ""  # such an expression, where the preamble holds the statements: printed in the name's place
    unprintable: tuple[str, ...] = ()  # why it cannot be printed as a whole, empty where it can

    @property
    def nested_nodes(self) -> list[GraphNode]:
        """The operations of the nested graphs."""
        return [node for graph in self.subgraphs for node in graph.nodes]

    @property
    def learns(self) -> bool:
        """Whether a gradient is asked for any input."""
        return any(item.meta is not None and item.meta.requires_grad for item in self.inputs)

    @property
    def holds_values(self) -> bool:
        """Whether inputs hold elements that the program had. Small constants of its code are none."""
        return any(item.recorded for item in self.inputs)

    @property
    def unwritten(self) -> GraphInput | None:
        """The first input that is no tensor or number which a script can make, such as a tensor of a subclass."""
        return next((item for item in self.inputs if item.kind == "opaque"), None)
