"""Several writes to one place in one operation (`z[index] = values`, an index in it twice): which of them stays is not defined.

Eager with several threads gives now one and now another; so such a value is asked for in one thread, where the order is that
of the indices, and once more with the indices the other way round.
"""

import contextlib

# An argument of those says whether what they write is added up.
INDEX_PUT = ("index_put", "_unsafe_index_put", "_index_put_impl")


@contextlib.contextmanager
def in_order(torch):
    """Inside, operations on the CPU run in one thread: places are written in the order of the indices."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def turned(name, args):
    """The arguments of what writes where indices say, indices and values the other way round; None of another operation."""
    try:
        if name in INDEX_PUT:
            return None if len(args) > 3 and args[3] else _turned_put(*args)
        if name in ("scatter", "index_copy") and len(args) == 4 and args[2].dim() and hasattr(args[3], "dim"):
            target, dimension, where, source = args
            if name == "index_copy":
                return (target, dimension, where.flip([0]), source.flip([dimension]))
            source = source[tuple(slice(0, size) for size in where.shape)]
            return (target, dimension, where.flip([dimension]), source.flip([dimension]))
        if name == "put" and not any(args[3:]):
            return (args[0], args[1].flatten().flip([0]), args[2].flatten().flip([0]), *args[3:])
    except Exception:  # a form that is not known here
        return None
    return None


def _turned_put(target, indices, values, *rest):
    """Index tensors are broadcast together; their dimensions stand in the result where the first is, else in front of it."""
    given = [item for item in indices if item is not None]
    if not given or any(str(item.dtype) in ("torch.bool", "torch.uint8") for item in given):
        return None
    rank = max(item.dim() for item in given)
    if not rank:
        return None
    places = [place for place, item in enumerate(indices) if item is not None]
    begin = places[0] if places[-1] - places[0] + 1 == len(places) else 0
    flipped = [None if item is None else item.flip(list(range(item.dim()))) for item in indices]
    behind = target.dim() - len(places) - begin  # dimensions of the values behind those of the indices
    last = values.dim() - behind
    first = max(0, last - rank)
    return (target, flipped, values.flip(list(range(first, last))) if last > first else values, *rest)
