"""Memory that nobody wrote, filled in an uncompiled run: what `torch.empty`, `torch.Tensor(3)` and the like give to the program.

`fill` is one of FILLS; with `only` (places as they are told) all other such memory holds zeros. In these runs alone is anything
replaced: what torch calls for itself is left as it is, and so is every run that compiles.
"""

import functools
import os
import sys

from .. import compat
from ..compare.modes import UNWRITTEN

FILLS = ("zeros", "large", "nan")
LARGE = 1e30


def patch(torch, recorder):
    """Fill such memory for the rest of this run, and tell each place that asks for it."""
    asked = recorder.config["unwritten"]
    told = set()
    for owner, label in ((torch, "torch"), (torch.Tensor, "Tensor")):
        for name in sorted(UNWRITTEN):
            original = getattr(owner, name, None)
            if callable(original) and (owner is torch) != name.startswith("new_"):
                setattr(owner, name, _filling(torch, original, "%s.%s" % (label, name), asked, told, recorder))
    new = torch.Tensor.new
    torch.Tensor.new = _filling(torch, new, "Tensor.new", asked, told, recorder, legacy=True)
    torch.Tensor.__new__ = _filling(torch, torch.Tensor.__new__, "torch.Tensor", asked, told, recorder, legacy=True)


def _filling(torch, original, call, asked, told, recorder, legacy=False):
    """`original`, whose tensors are filled; a `legacy` one is given sizes or data, after what it is called on."""
    home = compat.home_of_torch()

    @functools.wraps(original)
    def filled(*args, **kwargs):
        made = original(*args, **kwargs)
        asking = sys._getframe(1)
        if asking.f_code.co_filename.startswith(home) or (legacy and not are_sizes(torch, args[1:])):
            return made
        place = "%s (%s:%d)" % (call, os.path.basename(asking.f_code.co_filename), asking.f_lineno)
        if place not in told:
            told.add(place)
            recorder.channel.say("unwritten", place=place)
        fill = asked["fill"] if place in (asked.get("only") or (place,)) else "zeros"
        try:
            with torch.no_grad():
                made.fill_(value(torch, made.dtype, fill))
        except Exception:  # a kind of tensor that cannot be filled
            return made
        return made

    return filled


def are_sizes(torch, given):
    """Whether `torch.Tensor(*given)` makes memory of these sizes, where with data it holds those.

    Source: `legacy_tensor_generic_ctor_new` in torch/csrc/utils/tensor_new.cpp.
    """
    if len(given) == 1 and isinstance(given[0], torch.Size):
        return True
    return bool(given) and all(isinstance(each, int) for each in given)


def value(torch, dtype, fill):
    """What such memory holds. Large numbers are finite and far from any that a program computes."""
    if fill == "zeros" or dtype is torch.bool:
        return 0 if fill == "zeros" else True
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan") if fill == "nan" else min(LARGE, torch.finfo(dtype).max / 4)
    return torch.iinfo(dtype).max // (1 if fill == "nan" else 4)
