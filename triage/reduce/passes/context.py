"""What the graph ran under: backward, modes of torch.compile, autocast, config lines, registrations, mode switches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from triage.model.graphcase import Context, GraphCase
from triage.reduce.edits import DropContext, checked
from triage.reduce.passes.proposal import ChangeCase, ChangeContext, Choice, map_inputs
from triage.reduce.wiring import Wiring

_DEFAULTS = (
    ("mode", "without mode="),
    ("fullgraph", "without fullgraph=True"),
    ("training", "in eval mode"),
    ("deterministic", "without deterministic algorithms"),
    ("autocast", "without autocast"),
    ("inference_mode", "without inference mode"),
    ("grad_enabled", "with gradients enabled"),
)


class StaticShapes:
    """No symbolic sizes: `dynamic=` is left out, and so are the names of dynamic dimensions."""

    what = "with static shapes"

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
        rest = {key: value for key, value in case.context.options.items() if key != name}
        yield Choice(f"option {name}", (ChangeContext((("options", rest),), f"without the option {name}"),))
    for unit in Wiring(case).contexts:
        yield Choice(f"mode switch {unit}", (DropContext(unit),))


def config(case: GraphCase) -> Iterator[Choice]:
    """Config lines, one by one."""
    for line in case.context.config:
        rest = tuple(item for item in case.context.config if item != line)
        yield Choice(f"config {line}", (ChangeContext((("config", rest),), f"without `{line}`"),))


def preamble(case: GraphCase) -> Iterator[Choice]:
    """Registrations and imports that the failure does not need."""
    for index, block in enumerate(case.preamble):
        rest = case.preamble[:index] + case.preamble[index + 1 :]
        first = block.strip().split("\n", 1)[0]
        yield Choice(f"preamble {block}", (ChangeCase((("preamble", rest),), f"without `{first}`"),))
