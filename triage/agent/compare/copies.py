"""Copies of what a graph is called with: same values, strides, shared storages and autograd state, another memory.

A copy may be in double precision, or have nudged values. Invariant: nothing that is done to a copy reaches the program.
"""

import math
import os

from .. import compat
from ..capture import values
from ..compat import gpu
from . import memory, modes, rule

BYTES_AT_MOST = 1 << 30


class CannotCopyError(Exception):
    """An input that has no plain copy; the text says why."""


class Copier:
    """Makes copies of a call's arguments as they were when it was made."""

    def __init__(self, torch, arguments):
        self.torch = torch
        self.arguments = []
        self.bases = {}  # storage -> its elements as one dimension, of the dtype that was met first
        self.bytes = 0
        with torch.no_grad():
            for item in arguments:
                if isinstance(item, torch.Tensor) and compat.left_undone(item) != "zero":  # that has no memory to copy
                    self._check(item)
                    key = compat.address_of(item) or ("empty", id(item))
                    if key not in self.bases:
                        self._count(item)
                        self.bases[key] = self._base(item)
                    self.arguments.append((item, key, self._layout(item)))
                else:
                    self.arguments.append((item, None, None))
        self.parts = self._parts() if torch.is_grad_enabled() else set()

    def _count(self, item):
        """Refuse what is too much: the program's own call comes while its copies are there."""
        self.bytes += item.untyped_storage().nbytes()
        limit = _limit(item.device)
        if self.bytes > limit:
            raise CannotCopyError("its inputs are more than %d MiB" % (limit >> 20))

    def _parts(self):
        """Storages that hold several results of the program, all parts of one that takes gradients (`qkv.unbind()`)."""
        held = {}
        for item, key, _ in self.arguments:
            if key is not None:
                held.setdefault(key, []).append(item)
        return {
            key
            for key, items in held.items()
            if len(items) > 1
            and all(item.dtype == self.bases[key].dtype for item in items)
            and any(item.requires_grad for item in items)
            and not any(item.requires_grad and item.is_leaf for item in items)
        }

    def _check(self, item):
        if not values.is_real(item) or item.layout != self.torch.strided or item.is_quantized:
            raise CannotCopyError("an input is a %s" % type(item).__name__)
        if item.is_conj() or item.is_neg():
            raise CannotCopyError("an input is a lazy conjugate")

    def _base(self, item):
        """The whole storage, copied, as one dimension of the item's dtype."""
        return memory.plain_storage(self.torch, item).clone()

    @staticmethod
    def _layout(item):
        return tuple(item.shape), tuple(item.stride()), item.storage_offset()

    def copies(self, double=False, shaken=None, around=None):
        """New arguments, and which of them are leaves of autograd: ([argument], [(position, leaf)]).

        `shaken` (None, or whether roughly) nudges the values; `around` is a byte that lies on either side of each.
        Raises CannotCopyError where the inputs cannot be doubles.
        """
        torch = self.torch
        made, leaves, fresh, known, whole = [], [], {}, {}, {}
        for position, (item, key, layout) in enumerate(self.arguments):
            if key is None:
                made.append(item)
                continue
            if key not in fresh:
                fresh[key] = self._fresh(self.bases[key], double, shaken, around)
            if double and self.bases[key].dtype != item.dtype:
                raise CannotCopyError("two inputs read one storage as different dtypes")
            if key in self.parts:
                if key not in whole:
                    leaf = self._whole(item, fresh[key]).requires_grad_()
                    leaves.append((position, leaf))
                    whole[key] = leaf.clone()  # what the program computed may be changed in place, a leaf may not
                made.append((whole[key] if item.requires_grad else whole[key].detach()).as_strided(*layout))
                continue
            with torch.no_grad():
                dtype = fresh[key].dtype if double else item.dtype
                copy = self._placed(item, layout, fresh[key], dtype, known)
            if item.requires_grad and modes.is_float(item):
                copy = copy.detach().requires_grad_()
                leaves.append((position, copy))
                if not item.is_leaf and torch.is_grad_enabled():
                    # What the program computed may be changed in place, a leaf may not.
                    copy = copy.clone() if rule.dense(layout[0], layout[1]) else copy.view_as(copy)
            made.append(copy)
        return made, leaves

    def _whole(self, item, fresh):
        """All that a storage holds, in the form of the tensor that the item is a part of, where that fills it."""
        shape, stride, offset = self._layout(item if item._base is None else item._base)
        if offset or math.prod(shape) != fresh.numel() or not rule.dense(shape, stride):
            return fresh.detach()
        return fresh.detach().as_strided(shape, stride)

    def _placed(self, item, layout, fresh, dtype, known):
        """The tensor of this layout in a new storage; a view has a copy of the tensor that it is a view of.

        Compiled code may ask for that one: AOTAutograd puts inputs of one storage together by it.
        """
        base = item._base
        if id(item) in known:
            return known[id(item)]
        if base is not None and base.dtype == item.dtype and not item.requires_grad and not base.requires_grad:
            copy = self.torch.as_strided(self._placed(base, self._layout(base), fresh, dtype, known), *layout)
        else:
            copy = self.torch.empty(0, dtype=dtype, device=item.device)
            copy.set_(fresh.untyped_storage(), layout[2], layout[0], layout[1])
        known[id(item)] = copy
        return copy

    def _fresh(self, base, double, shaken, around):
        name = str(base.dtype).split(".")[-1]
        if double and name.startswith("float8"):
            raise CannotCopyError("an input is %s" % name)
        copy = base.to(getattr(self.torch, modes.DOUBLE[name])) if double and name in modes.DOUBLE else base.clone()
        if around is not None:
            copy = memory.surrounded(self.torch, copy, around)
        return copy if shaken is None else modes.shaken(self.torch, copy, shaken)


def _limit(device):
    """Bytes of inputs that may be copied: an eighth of what is free where they lie, a gigabyte at most."""
    on_device = gpu.free_bytes(device)
    if on_device is not None:
        return min(BYTES_AT_MOST, on_device // 8)
    try:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return BYTES_AT_MOST
    return min(BYTES_AT_MOST, free // 8)
