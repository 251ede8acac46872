"""What the profiles of steps say: the operations side by side, what was fused, what is slower compiled, what is not compiled.

Pure functions of what the agent told (`profiled` events, see `triage.agent.hooks.profiling`). Several steps were profiled, one
by one; the quickest of them counts, which the machine held up least.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triage.model.explanation import FusedTime, Profile, ProfiledOperation, ProfiledStep
from triage.model.text import milliseconds

MOST_OPERATIONS = 60
SLOWER = 1.1  # times what it took uncompiled, before it is called slower
WORTH_SHARE = 0.05  # of a step, for anything to be told in a sentence
ATEN = "aten::"
_OPTIMIZER, _DATA, _BACKWARD = "Optimizer.", "enumerate(DataLoader)", "autograd::engine::evaluate_function: "


@dataclass(frozen=True)
class Part:
    """What no other mark lies around, in a step; `seconds` with all that it calls."""

    name: str
    compiled: bool
    seconds: float


def quickest(events: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The profiled step that counts; None where there was none."""
    told = [event for event in events if event.get("e") == "profiled"]
    return min(told, key=lambda event: float(event["step"]), default=None)


def step_of(events: Sequence[Mapping[str, Any]], mode: str, trace: str) -> ProfiledStep | None:
    """The step that counts; None where there was none."""
    best = quickest(events)
    if best is None:
        return None
    found = [
        ProfiledOperation(name, count, seconds, device, inside, tuple(fused))
        for name, inside, fused, count, seconds, device in best["rows"]
    ]
    found.sort(key=_time, reverse=True)
    number = sum(event.get("e") == "profiled" for event in events)
    return ProfiledStep(mode, best["step"], number, trace, tuple(found[:MOST_OPERATIONS]))


def parts_of(events: Iterable[Mapping[str, Any]]) -> tuple[Part, ...]:
    """What that step consists of; none where the program's last call was made again, as nothing else of the program ran."""
    best = quickest(events)
    if best is None or best.get("repeated"):
        return ()
    return tuple(Part(name, compiled, seconds) for name, compiled, _, seconds in best["parts"])


def profile_of(uncompiled: ProfiledStep, compiled: ProfiledStep) -> Profile:
    """Both steps, and what follows from them."""
    fused = fused_times(uncompiled, compiled)
    return Profile(uncompiled, compiled, fused, tuple(_slower(uncompiled, compiled, fused)))


def fused_times(uncompiled: ProfiledStep, compiled: ProfiledStep) -> tuple[FusedTime, ...]:
    """Kernels beside the operations that they hold, dearest first. Those that share an operation are taken together.

    What was fused in part, and runs by itself as well in a compiled graph, is left out: its time cannot be told apart. What runs
    outside of graphs does so in both programs, so that is taken from what it took uncompiled.
    """
    before = _in_graphs(uncompiled, compiled)
    by_itself = _by_operation(compiled, inside=True)
    groups: list[tuple[list[ProfiledOperation], set[str]]] = []
    for kernel in (each for each in compiled.operations if each.fused):
        kernels, names = [kernel], set(kernel.fused)
        for other in [group for group in groups if group[1] & names]:
            groups.remove(other)
            kernels, names = other[0] + kernels, other[1] | names
        groups.append((kernels, names))
    found = [
        FusedTime(
            tuple(each.name for each in kernels),
            tuple(sorted(names)),
            sum(map(_time, kernels)),
            sum(before.get(name, 0.0) for name in names),
        )
        for kernels, names in groups
        if any(name in before for name in names) and not any(name in by_itself for name in names)
    ]
    return tuple(sorted(found, key=lambda each: -each.seconds))


def outside(parts: Sequence[Part], step: float) -> tuple[str, ...]:
    """Sentences on what of a step is not compiled and takes a share that is worth a word."""
    shares: dict[str, float] = {}
    for part in parts:
        if not part.compiled:
            what = _kind(part.name)
            shares[what] = shares.get(what, 0.0) + part.seconds
    known = sum(part.seconds for part in parts)
    if step > known:
        shares[_BETWEEN] = step - known
    told = sorted(((seconds / step, what) for what, seconds in shares.items() if step), reverse=True)
    return tuple(f"{what}: {100 * share:.0f} % of a step." for share, what in told if share >= WORTH_SHARE)


_BETWEEN = "Python between operations, in compiled steps too (the program's own code, guards, the profiler itself)"
_UNCOMPILED = "Operations that the program calls outside of compiled functions (a loss, metrics)"


def _kind(name: str) -> str:
    if name.startswith(_OPTIMIZER):
        method, _, _ = name.removeprefix(_OPTIMIZER).partition("#")
        return f"The optimizer's `{method}` is not compiled"
    if name.startswith(_DATA):
        return "Waiting for the DataLoader"
    if name.startswith(_BACKWARD) or "Backward" in name:
        return "The backward pass of what is not compiled"
    return _UNCOMPILED


def _slower(uncompiled: ProfiledStep, compiled: ProfiledStep, fused: Sequence[FusedTime]) -> Iterable[str]:
    whole = compiled.seconds
    for each in fused:
        if (
            each.seconds > SLOWER * each.uncompiled_seconds
            and each.seconds - each.uncompiled_seconds > WORTH_SHARE * whole
        ):
            yield (
                f"`{each.kernels[0]}`{f' and {len(each.kernels) - 1} more' if len(each.kernels) > 1 else ''} takes "
                f"{milliseconds(each.seconds)}; uncompiled its operations took {milliseconds(each.uncompiled_seconds)}"
            )
    before, after = _in_graphs(uncompiled, compiled), _by_operation(compiled, inside=True)
    for name, seconds in after.items():
        base = before.get(name)
        if base is not None and seconds > SLOWER * base and seconds - base > WORTH_SHARE * whole:
            yield f"`{ATEN}{name}` takes {milliseconds(seconds)} in compiled graphs; uncompiled {milliseconds(base)}"
    lost = _rest(compiled) - _rest(uncompiled)
    if compiled.seconds > uncompiled.seconds and lost > WORTH_SHARE * whole:
        yield (
            f"{milliseconds(lost)} more of a step than uncompiled pass outside of operators and kernels: Python, guards, and "
            "the calls of graphs; larger inputs, or fewer and larger graphs (see the graph breaks), make them count less"
        )


def _rest(step: ProfiledStep) -> float:
    """What of a step no operator and no kernel accounts for."""
    return step.seconds - sum(each.seconds for each in step.operations if each.name.startswith(ATEN) or each.fused)


def _in_graphs(uncompiled: ProfiledStep, compiled: ProfiledStep) -> dict[str, float]:
    """Of the uncompiled step the operations that are in graphs when it is compiled."""
    elsewhere = _by_operation(compiled, inside=False)
    found = _by_operation(uncompiled, inside=None)
    return {name: max(0.0, seconds - elsewhere.get(name, 0.0)) for name, seconds in found.items()}


def _by_operation(step: ProfiledStep, inside: bool | None) -> dict[str, float]:
    """Seconds of each ATen operation, its overloads and inner calls apart."""
    found: dict[str, float] = {}
    for each in step.operations:
        if each.name.startswith(ATEN) and (inside is None or each.inside is inside):
            name = each.name.removeprefix(ATEN)
            found[name] = found.get(name, 0.0) + _time(each)
    return found


def _time(operation: ProfiledOperation) -> float:
    """On the device, where it ran there."""
    return operation.device_seconds or operation.seconds
