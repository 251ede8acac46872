"""What the graph ran under: backward, modes of torch.compile, autocast, config lines, registrations, mode switches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.judge.judgement import RefusedError
from triage.model.graphcase import Context, GraphCase
from triage.reduce.graph.edits import DropContext, checked
from triage.reduce.graph.passes.proposal import ChangeCase, ChangeContext, Choice, map_inputs
from triage.reduce.graph.wiring import Wiring
from triage.reduce.printing.preamble import leaves_unbound

_DEFAULTS = (
    ("mode", "without mode="),
    ("fullgraph", "without fullgraph=True"),
    ("training", "in eval mode"),
    ("deterministic", "without deterministic algorithms"),
    ("autocast", "without autocast"),
    ("inference_mode", "without inference mode"),
    ("grad_enabled", "with gradients enabled"),
)


@dataclass(frozen=True)
class DropConfig:
    """Without one config line."""

    line: str

    @property
    def what(self) -> str:
        return f"without `{self.line}`"

    def apply(self, case: GraphCase) -> GraphCase:
        rest = tuple(line for line in case.context.config if line != self.line)
        return checked(case, replace(case, context=replace(case.context, config=rest)))


@dataclass(frozen=True)
class DropOption:
    """Without one of the options of torch.compile."""

    name: str

    @property
    def what(self) -> str:
        return f"without the option {self.name}"

    def apply(self, case: GraphCase) -> GraphCase:
        rest = {name: value for name, value in case.context.options.items() if name != self.name}
        return checked(case, replace(case, context=replace(case.context, options=rest)))


@dataclass(frozen=True)
class DropPreamble:
    """Without one block of source in front of the function."""

    block: str

    @property
    def what(self) -> str:
        first = self.block.strip().split("\n", 1)[0]
        return f"without `{first}`"

    def apply(self, case: GraphCase) -> GraphCase:
        if case.prepared and leaves_unbound(case.preamble, self.block):
            raise RefusedError("a name would have no meaning")
        rest = tuple(block for block in case.preamble if block != self.block)
        return checked(case, replace(case, preamble=rest))


@dataclass(frozen=True)
class StaticShapes:
    """No symbolic sizes: `dynamic=` is left out, and so are the names of dynamic dimensions."""

    what: str = "with static shapes"

    def apply(self, case: GraphCase) -> GraphCase:
        plain = map_inputs(
            case, lambda item: replace(item, meta=replace(item.meta, symbols={})) if item.meta is not None else item
        )
        return checked(case, replace(plain, context=replace(case.context, dynamic=None)))


def backward(case: GraphCase) -> Iterator[Choice]:
    """A failure in forward needs no backward pass; one in backward keeps it, and its direction with it."""
    if case.backward and case.direction != "backward":
        yield Choice("backward", (ChangeCase((("backward", False),), "without a backward pass"),))


def modes(case: GraphCase) -> Iterator[Choice]:
    """Everything `torch.compile` and the surrounding `with` statements were told."""
    defaults = Context()
    for name, what in _DEFAULTS:
        default = getattr(defaults, name)
        if getattr(case.context, name) != default:
            yield Choice(f"context {name}", (ChangeContext(((name, default),), what),))
    if case.context.dynamic is not None or any(item.meta is not None and item.meta.symbols for item in case.inputs):
        yield Choice("context dynamic", (StaticShapes(),))
    for name in case.context.options:
        yield Choice(f"option {name}", (DropOption(name),))
    for unit in Wiring(case).contexts:
        yield Choice(f"mode switch {unit}", (DropContext(unit),))


def config(case: GraphCase) -> Iterator[Choice]:
    """Config lines, one by one."""
    for line in case.context.config:
        yield Choice(f"config {line}", (DropConfig(line),))


def preamble(case: GraphCase) -> Iterator[Choice]:
    """Registrations and imports that the failure does not need."""
    for block in case.preamble:
        yield Choice(f"preamble {block}", (DropPreamble(block),))
