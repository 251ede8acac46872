"""What a script must know of a graph's inputs: which it needs, how they are made, which are changed, where gradients flow.

Everything is worked out from the case as it stands, since a reducer changes inputs and nodes without looking here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from triage.model import effects, trees
from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.reduce.printing import fills, storages
from triage.reduce.printing.body import changes_something
from triage.reduce.printing.calls import Output
from triage.reduce.printing.comparison import Creation
from triage.reduce.printing.spelling import Unprintable

WHOLE = ("[:]", ".view(())")  # views of all of a tensor
DIFFERENTIABLE = fills.FLOATS | fills.COMPLEX


def used_inputs(case: GraphCase, live: Sequence[GraphNode]) -> list[GraphInput]:
    """The inputs that live nodes and outputs read; parameters and buffers last, as people write `f(x, w)`.

    Raises Unprintable for one that is no tensor and no number.
    """
    needed = {name for node in live for name in node.reads} | set(trees.refs(case.outputs))
    used = [item for item in case.inputs if item.name in needed]
    for item in used:
        if item.kind == "opaque":
            raise Unprintable(f"the input {item.source or item.name}: {item.value}")
    return sorted(used, key=lambda item: item.role in ("parameter", "buffer"))


def is_constant(item: GraphInput) -> bool:
    """A small tensor of the graph itself: written where it is used."""
    return item.role == "constant" and item.data is not None and item.meta is not None


def metas(inputs: Sequence[GraphInput], nodes: Sequence[GraphNode]) -> dict[str, TensorMeta]:
    """What is recorded of each tensor by name."""
    known = {item.name: item.meta for item in inputs if item.meta is not None}
    for node in nodes:
        if node.tensor is not None:
            known[node.name] = node.tensor
    return known


def wants_grad(item: GraphInput, case: GraphCase) -> bool:
    """ATen graphs run below autograd."""
    return (
        case.level == "dynamo"
        and item.meta is not None
        and item.meta.requires_grad
        and item.meta.dtype in DIFFERENTIABLE
    )


def changed_inputs(case: GraphCase, live: Sequence[GraphNode], pure: Collection[str]) -> frozenset[str]:
    """Inputs that the function changes, also through a view: whatever an in-place operator reaches by first arguments."""
    roots = {item.name: {item.name} for item in case.inputs if item.kind == "tensor"}
    changed: set[str] = set()
    for node in live:
        names = node.reads
        roots[node.name] = set(roots.get(names[0], ())) if names else set()
        if not effects.is_context(node) and changes_something(node, pure):
            target = effects.mutated(node)
            for name in [target] if target is not None else names:
                changed |= roots.get(name, set())
    return frozenset(changed)


def aliased(inputs: Sequence[GraphInput], changed: Collection[str]) -> bool:
    """Whether a changed input shares its storage with another one."""
    groups = [item.base or item.name for item in inputs if item.kind == "tensor"]
    return any(groups.count(item.base or item.name) > 1 for item in inputs if item.name in changed)


def outputs(case: GraphCase, live: Sequence[GraphNode], known: Mapping[str, TensorMeta]) -> tuple[Output, ...]:
    """What is known of each output; gradients are followed from the inputs."""
    carrying = _reached(case, live, {item.name for item in case.inputs if wants_grad(item, case)})
    found = []
    for value in case.outputs:
        name = trees.as_ref(value) or ""
        meta = known.get(name)
        dtype = meta.dtype if meta is not None else ""
        found.append(
            Output(
                differentiable=name in carrying and dtype in DIFFERENTIABLE and (meta is None or meta.requires_grad),
                complex=dtype in fills.COMPLEX,
                scalar=meta is not None and not meta.shape,
                tensor=meta is not None,
            )
        )
    return tuple(found)


def leaves(case: GraphCase, arguments: Sequence[GraphInput], live: Sequence[GraphNode]) -> list[GraphInput]:
    """The arguments that a gradient reaches."""
    wanted = [item for item in arguments if wants_grad(item, case)]
    results = set(trees.refs(case.outputs))
    return [item for item in wanted if results & _reached(case, live, {item.name})]


def arriving(case: GraphCase, titles: Mapping[str, str]) -> dict[int, str]:
    """By output, the gradient that its backward pass begins with: its title, or the number that fills it."""
    found = {}
    for item in case.inputs:
        for place, value in enumerate(case.outputs):
            if item.gradient_of is not None and trees.as_ref(value) == item.gradient_of:
                found[place] = _number(item.fill) or titles[item.name]
    return found


def gradients(case: GraphCase) -> list[GraphInput]:
    """The gradients that have to be made: those that no single number fills."""
    returned = set(trees.refs(case.outputs))
    return [item for item in case.inputs if item.gradient_of in returned and _number(item.fill) is None]


def _number(fill: str) -> str | None:
    """The one number that a tensor is full of, as Python writes it."""
    kind, _, number = fill.partition(":")
    return {"zeros": "0.0", "ones": "1.0", "full": number}.get(kind)


def _reached(case: GraphCase, live: Sequence[GraphNode], start: set[str]) -> set[str]:
    """The values that gradients of those in `start` flow through."""
    carrying, enabled = set(start), case.context.grad_enabled
    for node in live:
        mode = effects.sets_grad_mode(node)
        names = node.reads
        if mode is not None:
            enabled = mode
        elif enabled and carrying.intersection(names):
            carrying.add(node.name)
            carrying.update(filter(None, [effects.mutated(node)]))
    return carrying


def creations(
    case: GraphCase, arguments: Sequence[GraphInput], titles: Mapping[str, str], changed: Collection[str]
) -> list[Creation]:
    """How each tensor argument is made, in order. Raises Unprintable."""
    known = {item.name: item for item in arguments}
    # A leaf that is changed is copied, and a copy has a storage of its own.
    copied = {item.name for item in arguments if item.name in changed and wants_grad(item, case)}
    tables = {name: table for name, table in storages.shared(arguments).items() if name not in copied}
    made = []
    for item in arguments:
        if item.kind == "tensor" and item.meta is not None:
            try:
                view = _view(item, known, tables)
                if view is not None and item.base is not None:
                    view = _of_base(case, item, known[item.base], titles, view, item.name in changed)
                text = view or _creation(case, item, item.name in changed, tables.get(item.name))
            except fills.NoFillError as error:
                raise Unprintable(str(error)) from None
            dtype = item.meta.dtype if item.meta.dtype in DIFFERENTIABLE else None
            made.append(Creation(titles[item.name], text, dtype, view is not None))
    return made


def _of_base(
    case: GraphCase, item: GraphInput, base: GraphInput, titles: Mapping[str, str], view: str, changed: bool
) -> str:
    """Of the memory of another input, requiring grad where it was seen to: an average of weights may lie in that of the weights.

    Autograd knows nothing of tensors that share memory and are no views (`.data`, a parameter made of another).
    """
    above, grad = wants_grad(base, case), wants_grad(item, case)
    detached = (above and not grad) or (item.view_of is None and base.view_of is None)
    if detached:
        view = f".detach(){'' if view in WHOLE else view}"
    # A leaf that requires grad cannot be changed in place.
    return titles[base.name] + view + ".requires_grad_()" * (grad and (detached or not above) and not changed)


def _view(item: GraphInput, known: Mapping[str, GraphInput], tables: Mapping[str, GraphInput]) -> str | None:
    """The suffix that makes an input of its base."""
    base = known.get(item.base or "")
    if base is None or base.meta is None or item.meta is None:
        return None
    table = tables.get(base.name)
    if table is not None and table.meta is not None:
        # The base is but a part of that table: what lies beyond it is told by its place in the storage.
        inside = fills.view_of(table.meta, item.meta) is not None
        return fills.as_strided(item.meta) if inside else None
    if fills.effective_fill(base) == "values" and fills.layout(base.meta)[1]:
        return None  # its storage is laid out by the values, not by a view
    owner = fills.based(base)
    return fills.view_of(base.meta, item.meta, room=fills.storage_size(owner[0]) if owner is not None else 0)


def _creation(case: GraphCase, item: GraphInput, changed: bool, table: GraphInput | None = None) -> str:
    grad, based = wants_grad(item, case), fills.based(item)
    if table is not None and table.meta is not None and item.meta is not None:
        suffix = fills.view_of(table.meta, item.meta)
        return f"{fills.creation(table, requires_grad=False)}{suffix}{'.requires_grad_()' if grad else ''}"
    if based is None:
        text = fills.creation(item, requires_grad=grad)
        # A leaf that requires grad cannot be changed in place.
        return f"{text}.clone()" if changed and grad else text
    meta, suffix = based
    # A backward pass leaves its gradients at leaves, and its reader looks for them at the inputs.
    above = grad and meta.requires_grad and not case.backward
    text = fills.creation(replace(item, meta=meta), requires_grad=above)
    text += ".clone()" * (changed and above) + suffix
    if not grad or above:
        return text
    return text + ".requires_grad_()" + ".clone()" * changed
