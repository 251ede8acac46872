"""What `torch.compile` and the surrounding `with` statements were told: mode, options, dynamic, autocast, mode switches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triage.model.graphcase import Context, GraphCase
from triage.reduce.graph.edits import DropContext, checked
from triage.reduce.graph.passes.proposal import ChangeContext, Choice, map_inputs
from triage.reduce.graph.wiring import Wiring

_DEFAULTS = (
    ("mode", "without mode="),
    ("fullgraph", "without fullgraph=True"),
    ("deterministic", "without deterministic algorithms"),
    ("autocast", "without autocast"),
    ("inference_mode", "without inference mode"),
    ("grad_enabled", "with gradients enabled"),
)


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
class StaticShapes:
    """No symbolic sizes: `dynamic=` is left out, and so are the names of dynamic dimensions."""

    what: str = "with static shapes"

    def apply(self, case: GraphCase) -> GraphCase:
        plain = map_inputs(
            case, lambda item: replace(item, meta=replace(item.meta, symbols={})) if item.meta is not None else item
        )
        return checked(case, replace(plain, context=replace(case.context, dynamic=None)))


def propose(case: GraphCase) -> Iterator[Choice]:
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
