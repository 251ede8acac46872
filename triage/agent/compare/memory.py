"""Memory that nobody wrote, filled with something that is known: what reads it gives itself away.

Two fillings; a result that is not the same under both was read from beside a tensor, or from memory that was never written.
"""

import contextlib
import ctypes
import sys

# As bytes of any dtype: zeros, and numbers that are large enough to tell and small enough to compute with (12.1 in float32).
FILLINGS = (0x00, 0x41)
MARGIN = 4096  # bytes on either side of a tensor
HOLES = range(6, 22)  # sizes of free memory between what is known, as powers of two
_M_PERTURB = -6  # malloc.h of the GNU C library: new memory is filled with the complement of this byte


@contextlib.contextmanager
def fresh_memory_filled(byte):
    """While this is open, what malloc gives holds this byte; with the GNU C library, elsewhere nothing is changed."""
    perturb = _mallopt()
    if perturb is None:
        yield
        return
    perturb(_M_PERTURB, ~byte & 0xFF)
    try:
        yield
    finally:
        perturb(_M_PERTURB, 0)


@contextlib.contextmanager
def holes_between(torch, byte, device):
    """While this is open, memory of each size is free that lies between tensors which hold this byte.

    What is allocated there and read beyond its end gives itself away; `fresh_memory_filled` alone says only what lies within it.
    """
    kept = []
    for power in HOLES:
        blocks = [torch.full((1 << power,), byte, dtype=torch.uint8, device=device) for _ in range(8)]
        kept += blocks[::2]
        del blocks
    yield
    del kept


def _mallopt():
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return None


def surrounded(torch, plain, byte):
    """The elements of a one-dimensional tensor in a storage of just their size, with this byte before and behind it."""
    size = plain.numel() * plain.element_size()
    whole = torch.full((size + 2 * MARGIN,), byte, dtype=torch.uint8, device=plain.device)
    if size:
        whole[MARGIN : MARGIN + size] = plain.contiguous().view(torch.uint8)
    part = whole.untyped_storage()[MARGIN : MARGIN + size]  # shares the memory, which lives as long as it does
    placed = torch.empty(0, dtype=plain.dtype, device=plain.device)
    return placed.set_(part, 0, (plain.numel(),), (1,))


def plain_storage(torch, tensor):
    """All elements of a tensor's storage in one dimension, in its dtype; shares the memory."""
    storage = tensor.untyped_storage()
    plain = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return plain.set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))
