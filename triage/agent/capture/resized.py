"""A described graph of symbolic sizes, as it is in a call of other sizes than that it was described by.

What the call was given says what each symbol stands for, and what was recorded beside a size (`3*s0`) what those inside are.
"""

from . import values

_FUNCTIONS = {"__builtins__": {}, "Max": max, "Min": min, "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b}
_FUNCTIONS.update(
    FloorDiv=lambda a, b: a // b, CleanDiv=lambda a, b: a // b, ModularIndexing=lambda a, b, c: a // b % c
)


class UnknownSizeError(Exception):
    """A size that is not told by what the call was given."""


def resize(case, given):
    """Give every tensor of the graph the sizes of this call. `given` are pairs (entry of an input, its tensor).

    Raises UnknownSizeError, and leaves the graph as it was, where those are not all known.
    """
    known = {}
    for entry, tensor in given:
        meta = entry["meta"]
        if len(meta["shape"]) != tensor.dim():
            raise UnknownSizeError(entry["name"])
        for place, size in enumerate(tensor.shape):
            text = meta["symbols"].get(str(place))
            if text is not None:
                known.setdefault(text, int(size))
            elif int(size) != meta["shape"][place]:
                raise UnknownSizeError("%s, dimension %d" % (entry["name"], place))
    metas = list(_metas(case))
    changed = [_sizes(meta, known) for meta in metas]
    for meta, (shape, stride) in zip(metas, changed):  # noqa: B905 - not in Python 3.9
        meta.update(shape=shape, stride=stride)
    for entry, tensor in given:
        entry["meta"].update((name, values.tensor_meta(tensor)[name]) for name in ("shape", "stride", "storage_offset"))


def _metas(case):
    """Each description of a tensor, once; `storage_offset` of views is left alone."""
    for entry in case["inputs"]:
        yield from filter(None, (entry["meta"], entry["view_of"]))
    for body in (case, *case["subgraphs"]):
        yield from filter(None, body.get("metas", ()))
        for node in body["nodes"]:
            yield from filter(None, node["out"])


def _sizes(meta, known):
    shape = [_size(meta["symbols"].get(str(place)), size, known) for place, size in enumerate(meta["shape"])]
    return shape, _strides(meta["shape"], meta["stride"], shape)


def _size(text, size, known):
    if text is None:
        return size
    if text in known:
        return known[text]
    try:
        found = eval(text, _FUNCTIONS, known)
    except Exception as error:
        raise UnknownSizeError("%s: %s" % (text, error)) from error
    if found != int(found):
        raise UnknownSizeError(text)
    return int(found)


def _strides(before, strides, now):
    """The steps between elements that are laid out in the same order, with the same gaps."""
    found = list(strides)
    for place, step in enumerate(strides):
        inner = [other for other, smaller in enumerate(strides) if (smaller, -other) < (step, -place) and smaller]
        was, will = _product(before, inner), _product(now, inner)
        if step and was and step % was == 0:
            found[place] = step // was * max(will, 1)
    return found


def _product(sizes, places):
    found = 1
    for place in places:
        found *= sizes[place]
    return found
