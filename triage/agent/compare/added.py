"""Operations that add to their first operand what they compute of others, with that rounded otherwise.

Their kernels round once. Traced, some of them are several operations, each of which rounds: `addcdiv` with a `value` is a
quotient, a product and a sum (`handle_addcdiv` in torch/_dynamo/variables/torch.py), `addcmul_`, `addcdiv_` and `_foreach_lerp_`
likewise. What is left where the sum cancels is then off by far more than a rounding of the result, and no wrong result.
"""

from .. import compat
from . import modes, randomness

ADDING = frozenset(("addcdiv", "addcmul", "lerp", "_foreach_addcdiv", "_foreach_addcmul", "_foreach_lerp"))


def rounded_otherwise(torch):
    """A mode under which what these operations add is a few units of its last place off; all others are as they are."""

    def call(func, args, kwargs):
        if modes.name_of(func) not in ADDING:
            return func(*args, **kwargs)
        before = [each.clone() for each in compat.tensors_in(args[0])]
        result = func(*args, **kwargs)
        put_back = randomness.kept(torch)  # the program's own random numbers are as they were
        try:
            given = compat.tensors_in(args[0] if result is None else result)
            for first, after in zip(before, given):  # noqa: B905 - not in Python 3.9
                _shake_added(torch, first, after)
        finally:
            put_back()
        return result

    return compat.dispatching(call, whole=True)


def _shake_added(torch, before, after):
    """Change in place what came of adding something to `before`."""
    if not modes.is_float(after):
        return
    wide = torch.complex128 if after.dtype.is_complex else torch.float64
    first = before.to(wide)
    added = (after.to(wide) - first).to(after.dtype)
    after.copy_(first + modes.shaken(torch, added, False, whole=True).to(wide))
