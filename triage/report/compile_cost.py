"""Of a program that compiles for longer than its steps can make good soon: what that goes to, and what is worth a try."""

from __future__ import annotations

from pathlib import Path

from triage.model.explanation import CompileTime, Explanation

LEAST_SECONDS = 10.0
LEAST_CALLS = 1000  # of what was compiled, that take as long as compiling it did
LARGE = 0.5  # of all compiling: a part that is worth naming
PHASES = {
    "dynamo": "tracing (Dynamo)",
    "aot_autograd": "AOTAutograd",
    "inductor": "Inductor's passes and lowering",
    "code_generation": "code generation",
    "kernel_build": "building kernels",
}


def outweighs(told: CompileTime) -> bool:
    """Whether compiling is what such a program's time goes to, and long enough to be waited for."""
    return (
        told.seconds >= LEAST_SECONDS and bool(told.later_call) and told.seconds >= LEAST_CALLS * (told.later_call or 0)
    )


def cost(found: Explanation) -> list[str]:
    """What compiling is, beside the steps, and what is worth a try; nothing where it does not outweigh them."""
    told = found.compile
    if not outweighs(told):
        return []
    calls = told.seconds / (told.later_call or 1)
    parts = [f"{PHASES.get(name, name)} ({share:.0%} of it)" for name, share in _shares(told) if share >= LARGE]
    large = [each for each in told.by_graph if each.seconds >= LARGE * told.seconds and len(told.by_graph) > 1]
    graphs = [each for each in large if not Path(each.file).is_absolute()]  # a wrapper of torch's says nothing
    parts += [f"{each.function} ({each.file}:{each.line}, {each.seconds:.0f} s)" for each in graphs]
    mostly = f", most of it for {' and for '.join(parts)}" if parts else ""
    tries = ["compile the layer that repeats, in place of the whole model (layers of one kind then share their graphs)"]
    kept = "keep the compile caches between runs (TORCHINDUCTOR_CACHE_DIR)"
    tries.append(kept if told.warm_seconds is not None else f"{kept}: --warm tells what a run then compiles")
    if not found.modes:
        tries.append("--modes tells after how many steps compiling has paid for itself")
    return [
        f"Compiling takes as long as {_about(calls)} of the later calls{mostly}.",
        f"Worth a try: {'; '.join(tries)}.",
    ]


def _shares(told: CompileTime) -> list[tuple[str, float]]:
    whole = sum(told.by_phase.values()) or 1.0
    return sorted(((name, seconds / whole) for name, seconds in told.by_phase.items()), key=lambda part: -part[1])


def _about(count: float) -> str:
    """With two figures that count: `130,000`."""
    size = 10 ** max(0, len(str(int(count))) - 2)
    return f"{round(count / size) * size:,}"
