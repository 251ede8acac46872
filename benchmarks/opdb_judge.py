"""In what way does a script's compiled function differ from eager? `python opdb_judge.py SCRIPT OUT.json [strides]`, with torch.

It shares no code with the reducers it is to judge. `torch.compile` is replaced: each compiled function is run beside itself
uncompiled and beside itself in double precision, on copies of the same arguments; its outputs and its gradients are put
into words by `kind_of`. The script then goes on as if nothing had happened. A difference is *rounding* where compiled is
not much further from double precision than eager is, or than the dtype explains.
"""

import json
import runpy
import sys
from pathlib import Path

import torch

FACTOR, STEPS = 16.0, 64.0  # of eager's own error; of the dtype's precision, at the size of the tensor
ALIKE, ROUNDING = "", "rounding"
WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def kind_of(eager, compiled, exact=None):
    """How one value differs: structure, dtype, shape, nan, inf, values, rounding, strides, or nothing."""
    if not isinstance(eager, torch.Tensor) or not isinstance(compiled, torch.Tensor):
        return ALIKE if type(eager) is type(compiled) and _same(eager, compiled) else "structure"
    if eager.dtype != compiled.dtype:
        return "dtype"
    if eager.shape != compiled.shape:
        return "shape"
    if exact is None or exact.shape != eager.shape:
        exact = None
    return _elements(eager, compiled, exact) or _layout(eager, compiled)


def _same(one, other):
    return one is other or one == other or one != one


def _layout(eager, compiled):
    return "strides" if eager.numel() > 1 and eager.stride() != compiled.stride() else ALIKE


def _elements(eager, compiled, exact):
    if torch.equal(eager, compiled):
        return ALIKE
    if not (eager.is_floating_point() or eager.is_complex()):
        return "values"
    truth = eager if exact is None else exact.to(eager.dtype)
    for name, pattern in (("nan", torch.isnan), ("inf", torch.isinf)):
        if not torch.equal(pattern(eager), pattern(compiled)):
            return ROUNDING if torch.equal(pattern(truth), pattern(compiled)) else name
    return _numbers(eager, compiled, exact)


def _numbers(eager, compiled, exact):
    """Values or rounding, from errors against double precision."""
    one, other = (wide(value) for value in (eager, compiled))
    truth = one if exact is None else wide(exact)
    known = torch.isfinite(one) & torch.isfinite(other) & torch.isfinite(truth)
    if not known.any():
        return ALIKE if torch.equal(torch.nan_to_num(one), torch.nan_to_num(other)) else "inf"
    size = float(truth[known].abs().max())
    mine, its = (float((value - truth)[known].abs().max()) for value in (other, one))
    allowed = FACTOR * its + STEPS * torch.finfo(eager.dtype).eps * size + torch.finfo(eager.dtype).tiny
    if mine > allowed:
        return "values"
    return ALIKE if float((one - other)[known].abs().max()) == 0 else ROUNDING


def wide(value):
    """In double precision, whatever it was."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    return value.to(torch.complex128 if value.is_complex() else torch.float64)


def worst(kinds, strides=False):
    """One word for all values of a call: what is no rounding first; a layout last, unless the script looks at layouts."""
    told = [kind for kind in kinds if kind]
    last = ("strides", ROUNDING) if strides else (ROUNDING, "strides")
    return next((kind for kind in told if kind not in last), None) or next(
        (kind for kind in last if kind in told), ALIKE
    )


class Watch:
    """Stands in the place of torch.compile, and notes what it saw."""

    def __init__(self):
        self.kinds = []
        self._compile = torch.compile

    def __call__(self, model=None, **how):
        if model is None:
            return lambda function: self(function, **how)
        compiled = self._compile(model, **how)

        def call(*args, **kwargs):
            self.look(model, self._compile(model, **how), args, kwargs)
            return compiled(*args, **kwargs)

        return call

    def look(self, model, compiled, args, kwargs):
        """Compare one call."""
        with torch.random.fork_rng():
            state = torch.get_rng_state()
            every = []
            for function, double in ((model, False), (compiled, False), (model, True)):
                torch.set_rng_state(state)
                every.append(results(function, args, kwargs, double))
        eager, mine, exact = every
        if isinstance(eager, str):
            return
        if isinstance(mine, str):
            self.kinds.append("exception")
        elif len(eager) != len(mine):
            self.kinds.append("structure")
        else:
            truth = exact if not isinstance(exact, str) and len(exact) == len(eager) else [None] * len(eager)
            self.kinds += [kind_of(*three) for three in zip(eager, mine, truth, strict=True)]


def results(function, args, kwargs, double):
    """Outputs and gradients, flat; or the type of what it raised."""
    from torch.utils._pytree import tree_flatten, tree_map

    leaves = []

    def own(value):
        if not isinstance(value, torch.Tensor):
            return value
        copy = value.detach().clone()
        if double:
            copy = copy.to(WIDE.get(copy.dtype, copy.dtype))
        if value.requires_grad:
            leaves.append(copy.requires_grad_())
        return copy

    try:
        found = tree_flatten(function(*tree_map(own, args), **tree_map(own, kwargs)))[0]
        return [
            *(each.detach() if isinstance(each, torch.Tensor) else each for each in found),
            *gradients(found, leaves),
        ]
    except Exception as error:  # noqa: BLE001  whatever the operation raises is a result
        return type(error).__name__


def gradients(found, leaves):
    """Of the sum of all magnitudes, which is what the scripts take too."""
    outputs = [each for each in found if isinstance(each, torch.Tensor) and each.requires_grad]
    if not outputs or not leaves:
        return []
    return list(torch.autograd.grad(sum(each.abs().sum() for each in outputs), leaves, allow_unused=True))


def main(file, out, *words):
    watch = Watch()
    torch.compile = watch
    ended = "ok"
    try:
        runpy.run_path(file, run_name="__main__")
    except BaseException as error:  # noqa: BLE001  a script may end in any way
        ended = type(error).__name__
    told = {"kind": worst(watch.kinds, "strides" in words), "kinds": watch.kinds, "ended": ended}
    Path(out).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:4])
