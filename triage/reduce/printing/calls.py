"""The end of a reproducer: how its function is called, uncompiled first, then compiled, and what is compared.

`Calls` is what the rest of the script says of the function; the three checks are: an exception (or a crash) shows as
itself, wrong values as a failed comparison against a double-precision reference, what else is wrong as a failed assertion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

TABLE_LIMIT = 16384  # elements of a value that are written down when it is looked at


@dataclass(frozen=True)
class Output:
    """One output of the function: whether it carries a gradient, and its form. A `squared` one is squared for the loss."""

    differentiable: bool = False
    complex: bool = False
    scalar: bool = False
    tensor: bool = True
    squared: bool = False


@dataclass(frozen=True)
class Calls:
    """`parameters` are the arguments as written in a call.

    `changed` are those the function changes in place: the eager run gets copies, the compiled one the originals. `arriving`
    says, by output, which gradient a backward pass begins with: a name, or the number it is full of.
    """

    parameters: tuple[str, ...]
    outputs: tuple[Output, ...]
    compiled: str  # torch.compile(f, ...)
    function: str = "f"
    backward: int = 0  # how often gradients are taken: 2 where the gradient itself is differentiated
    modes: tuple[str, ...] = ()  # `with` headers round the calls
    fresh: bool = False  # inputs are made anew for each call, by inputs()
    changed: frozenset[str] = frozenset()
    leaves: tuple[str, ...] = ()  # parameters whose gradients are compared
    arriving: Mapping[int, str] = field(default_factory=dict)
    waits: bool = False  # for the GPU, behind each of the two runs
    times: int = 1  # that the compiled function is called


WAIT = "torch.cuda.synchronize()"


def eager_arguments(calls: Calls) -> str:
    """The arguments of the first run."""
    if calls.fresh:
        return "*inputs()"
    return ", ".join(f"{name}.clone()" if name in calls.changed else name for name in calls.parameters)


def compiled_arguments(calls: Calls) -> str:
    """The arguments of the last run."""
    return "*inputs()" if calls.fresh else ", ".join(calls.parameters)


def exception_lines(calls: Calls) -> list[str]:
    """Run eagerly, run compiled: the failure shows as itself."""
    if calls.backward > 1:
        return _second_order(calls)
    outside = bool(calls.backward and calls.modes)
    step = _backward_outside if outside else used
    *first, eager = step(calls, f"{calls.function}({eager_arguments(calls)})")
    wait = [WAIT] * calls.waits
    lines = [*first, f"{eager}  # eager works", *wait]
    arguments = compiled_arguments(calls)
    single = f"{calls.compiled}({arguments})"
    last = step(calls, single)
    if calls.times > 1 or max(map(len, last)) > 118:
        lines.append(f"compiled = {calls.compiled}")
        last = step(calls, f"compiled({arguments})")
    last += wait
    if calls.times > 1:
        last = [f"for _ in range({calls.times}):", *("    " + line for line in last)]
    return lines + last if outside else in_modes(calls.modes, lines + last)


def _backward_outside(calls: Calls, call: str) -> list[str]:
    """Gradients are taken outside of autocast, as programs do."""
    return [*in_modes(calls.modes, [f"out = {call}"]), backward_of_out(calls)]


def _second_order(calls: Calls) -> list[str]:
    """The gradient of a gradient, as a gradient penalty takes it."""
    lines = ["def step(fn):"]
    if calls.fresh:
        names = [name if name.isidentifier() else "_" for name in calls.parameters]
        lines.append(f"    {', '.join(names)}{',' if len(names) == 1 else ''} = inputs()")
    lines += ["    " + line for line in in_modes(calls.modes, [f"out = fn({', '.join(calls.parameters)})"])]
    lines += ["    " + line for line in penalty(calls)]
    wait = [WAIT] * calls.waits
    return [*lines, "", "", f"step({calls.function})  # eager works", *wait, f"step({calls.compiled})", *wait]


def penalty(calls: Calls) -> list[str]:
    """The gradients of the loss of the result `out`, differentiated once more."""
    single = len(calls.leaves) == 1
    leaves = calls.leaves[0] if single else f"({', '.join(calls.leaves)})"
    return [
        f"{'(grad,)' if single else 'grads'} = torch.autograd.grad({_total(calls)}, {leaves}, create_graph=True)",
        f"{'grad.sum()' if single else 'sum(grad.sum() for grad in grads)'}.backward()",
    ]


def _total(calls: Calls) -> str:
    """The loss of all differentiable outputs of the result `out`, not in parentheses."""
    if len(calls.outputs) == 1:
        return loss("out", calls.outputs[0])
    terms = [loss(f"out[{index}]", item) for index, item in enumerate(calls.outputs) if item.differentiable]
    return " + ".join(terms)


def backward_of_out(calls: Calls) -> str:
    """A backward pass of all differentiable outputs of the result `out`."""
    text = _total(calls)
    return f"({text}).backward()" if " + " in text else f"{text}.backward()"


def begun(calls: Calls) -> list[str]:
    """A backward pass of `out` from the gradients that arrive; from ones at outputs that none was recorded of."""
    if len(calls.outputs) == 1:
        return [f"out.backward({_arriving(calls, 0, 'out')})"]
    places = [place for place, item in enumerate(calls.outputs) if item.differentiable]
    gradients = ", ".join(_arriving(calls, place, f"out[{place}]") for place in places)
    return [f"torch.autograd.backward([{', '.join(f'out[{place}]' for place in places)}], [{gradients}])"]


def _arriving(calls: Calls, place: int, output: str) -> str:
    """A number stands for a tensor full of it."""
    text = calls.arriving.get(place, "1.0")
    if text.isidentifier():
        return text
    plain = {"0.0": "zeros_like", "1.0": "ones_like"}.get(text)
    return f"torch.{plain}({output})" if plain is not None else f"torch.full_like({output}, {text})"


def used(calls: Calls, call: str) -> list[str]:
    """The statements that use the result of a call: nothing, or a backward pass."""
    if not calls.backward:
        return [call]
    wanted = [output for output in calls.outputs if output.differentiable]
    if len(calls.outputs) == 1:
        return [loss(call, wanted[0]) + ".backward()"]
    if len(wanted) == len(calls.outputs) and not any(item.complex for item in wanted):
        return [f"sum(out.sum() for out in {call}).backward()"]
    if len(wanted) == 1:
        position = calls.outputs.index(wanted[0])
        return [loss(f"{call}[{position}]", wanted[0]) + ".backward()"]
    return [f"out = {call}", backward_of_out(calls)]


def loss(text: str, output: Output) -> str:
    """A real number that depends on the output."""
    if output.squared:
        text = f"{text}.abs().square()" if output.complex else f"{text}.square()"
    elif output.complex:
        return f"{text}.abs()" if output.scalar else f"{text}.abs().sum()"
    return text if output.scalar else f"{text}.sum()"


# What a check asks of the two results besides their numbers, and the words in which it fails.
FACTS = {
    "shape": ("{0}.shape == {1}.shape", "shape {{{0}.shape}} compiled, {{{1}.shape}} in eager"),
    "dtype": ("{0}.dtype == {1}.dtype", "dtype {{{0}.dtype}} compiled, {{{1}.dtype}} in eager"),
    "strides": ("{0}.stride() == {1}.stride()", "strides {{{0}.stride()}} compiled, {{{1}.stride()}} in eager"),
    "requires_grad": (  # what requires a gradient, and is a leaf, has no grad_fn: a backward pass ends there
        "({0}.requires_grad, {0}.is_leaf) == ({1}.requires_grad, {1}.is_leaf)",
        "requires_grad is {{{0}.requires_grad}} compiled (leaf: {{{0}.is_leaf}}), "
        "{{{1}.requires_grad}} in eager (leaf: {{{1}.is_leaf}})",
    ),
    "zero_sign": (
        "torch.equal(torch.signbit({0}), torch.signbit({1}))",
        "signs of zeros: {{torch.signbit({0})}} compiled, {{torch.signbit({1})}} in eager",
    ),
    "structure": ("type({0}) is type({1})", "a {{type({0})}} compiled, a {{type({1})}} in eager"),
}


def facts_lines(calls: Calls, kind: str) -> list[str]:
    """Eager, compiled, and one fact in which they must agree."""
    eager, compiled = f"{calls.function}({eager_arguments(calls)})", f"{calls.compiled}({compiled_arguments(calls)})"
    single = len(calls.outputs) == 1
    if single:
        return [*in_modes(calls.modes, [f"expected = {eager}", f"actual = {compiled}"]), *_same_fact(calls, kind, "")]
    lines = in_modes(calls.modes, [f"eager = {eager}", f"results = {compiled}"])
    loop = "for expected, actual in zip(eager, results):"
    if all(item.tensor for item in calls.outputs) or kind == "structure":
        return [*lines, loop, *_same_fact(calls, kind, "    ")]
    return [*lines, loop, "    if isinstance(expected, torch.Tensor):", *_same_fact(calls, kind, "        ")]


def _same_fact(calls: Calls, kind: str, indent: str) -> list[str]:
    if kind == "aliasing":
        shared = [f"torch._C._is_alias_of({{0}}, {name})" for name in calls.parameters if name.isidentifier()]
        both = [f"[{', '.join(shared)}]".format(name) for name in ("actual", "expected")]
        return [f'{indent}assert {both[0]} == {both[1]}, "it shares its memory with other inputs than in eager"']
    test, words = (text.format("actual", "expected") for text in FACTS[kind])
    return [f'{indent}assert {test}, f"{words}"']


VALUES = "values.json"


def observe_lines(calls: Calls) -> list[str]:
    """No compiler: one eager run, and the elements of each small tensor that it returns, written into `VALUES`."""
    call = f"{calls.function}({compiled_arguments(calls)})"
    gathered = f"({call},)" if len(calls.outputs) == 1 else call
    return [
        "def tell(value):",
        f"    if not isinstance(value, torch.Tensor) or value.numel() > {TABLE_LIMIT} or value.layout != torch.strided:",
        "        return None",
        "    value = value.detach().cpu()",
        "    if value.is_complex():",
        '        return {"complex": torch.view_as_real(value.resolve_conj()).tolist()}',
        "    return (value.float() if value.is_floating_point() and value.dtype != torch.float64 else value).tolist()",
        "",
        "",
        *in_modes(calls.modes, [f"results = {gathered}"]),
        *(_gradients_seen(calls) if calls.backward == 1 and calls.arriving else ["gradients = []"]),
        f'with open("{VALUES}", "w") as file:',
        "    json.dump([[tell(value) for value in results], [tell(value) for value in gradients]], file)",
    ]


def _gradients_seen(calls: Calls) -> list[str]:
    """The gradients that arrive at each result: those that the outputs are given, and what eager makes of them."""
    roots = ", ".join(f"results[{place}]" for place in calls.arriving)
    given = ", ".join(_arriving(calls, place, f"results[{place}]") for place in calls.arriving)
    return [
        "inner = [value for value in results if isinstance(value, torch.Tensor) and value.requires_grad]",
        f"found = iter(torch.autograd.grad([{roots}], inner, [{given}], allow_unused=True))",
        "gradients = [next(found) if any(value is other for other in inner) else None for value in results]",
    ]


def check_lines(calls: Calls, check: str) -> list[str]:
    """The end of a script whose failure shows as itself, or as one fact that is not as in eager."""
    whole = {"exception": exception_lines, "observe": observe_lines}.get(check)
    return whole(calls) if whole is not None else facts_lines(calls, check)


def in_modes(modes: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Lines inside one `with` statement."""
    if not modes:
        return list(lines)
    return [f"with {', '.join(modes)}:", *("    " + line for line in lines)]
