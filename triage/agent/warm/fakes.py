"""What operations give fake tensors, beside what they give real ones: sizes, strides, dtype, device, and whose memory it is.

`measure` compares in a run without a compiler. Each operation is given fakes of what it is really given, so that one which
answers wrongly is not blamed for what came in wrong. `mend` has every fake tensor mode answer as eager did, for the calls
that it is told: a failure that is gone then comes of them. Operations that change what they are given are left out, and
those whose fake result hangs on values.
"""

import functools
import json

from .. import compat
from ..capture.operators import is_torchs

FILE = "fakes.jsonl"
MOST = 2000  # calls that are compared, each operation with such arguments once
MOST_TOLD = 40


def measure():
    """For the rest of this process: a line of JSON for each call whose fake result is another than the real one."""
    import torch

    compat.dispatching(_Measuring(torch).call).__enter__()


class _Measuring(object):
    def __init__(self, torch):
        self.torch, self.known, self.told = torch, set(), 0

    def call(self, func, args, kwargs):
        before = self._fake(func, args, kwargs)
        result = func(*args, **kwargs)
        if before is not None:
            given, fake = before
            real = _described(self.torch, result, compat.flattened((args, kwargs))[0])
            if _differ(real, fake):
                self.told += 1
                _write({"operation": str(func), "given": given, "real": real, "fake": fake})
        return result

    def _fake(self, func, args, kwargs):
        """(what it is given, what it gives fakes of that); None where that is not asked, or not to be told."""
        flat = compat.flattened((args, kwargs))[0]
        if self.told >= MOST_TOLD or len(self.known) >= MOST or not _asked(self.torch, func, flat):
            return None
        given = _given(self.torch, flat)
        key = (str(func), json.dumps(given))
        if key in self.known:
            return None
        self.known.add(key)
        try:
            inputs, results = compat.fake_call(func, args, kwargs)
            return given, _described(self.torch, results, inputs)
        except Exception:
            return None  # it raises: then its own name is in the error


def mend(calls):
    """For the rest of this process: `calls` are lines that `measure` wrote. Fake results of such calls become the real ones."""
    import torch

    wanted = {(call["operation"], json.dumps(call["given"])): call["real"] for call in calls}
    names = {call["operation"] for call in calls}
    mode = compat.fake_tensor_mode()
    original = mode.dispatch

    @functools.wraps(original)
    def dispatch(self, func, types, args=(), kwargs=None):
        result = original(self, func, types, args, kwargs or {})
        if str(func) not in names:
            return result
        flat = compat.flattened((args, kwargs or {}))[0]
        real = wanted.get((str(func), json.dumps(_given(torch, flat))))
        return result if real is None else _mended(torch, self, result, real, flat)

    mode.dispatch = dispatch


def _mended(torch, mode, result, real, inputs):
    leaves, put_back = compat.flattened(result)
    if len(leaves) != len(real):
        return result
    with mode:
        return put_back([_made(torch, leaf, told, inputs) for leaf, told in zip(leaves, real)])  # noqa: B905 - Python 3.9


def _made(torch, leaf, told, inputs):
    """A fake tensor as it was told, in the memory of the input that it shares."""
    if not isinstance(leaf, torch.Tensor) or told is None:
        return leaf
    if told["of"] is not None:
        return torch.as_strided(inputs[told["of"]], told["size"], told["stride"], told["offset"])
    dtype = getattr(torch, told["dtype"])
    return torch.empty_strided(told["size"], told["stride"], dtype=dtype, device=told["device"])


def _asked(torch, func, flat):
    """Whether it is an operation of torch's own, of plain tensors, that changes none of them."""
    tensors = [item for item in flat if isinstance(item, torch.Tensor)]
    plain = all(type(item) in (torch.Tensor, torch.nn.Parameter) and item.layout is torch.strided for item in tensors)
    schema = getattr(func, "_schema", None)
    return plain and schema is not None and not schema.is_mutable and is_torchs(schema.name)


def _given(torch, flat):
    """What an operation is given, as JSON that both worlds have alike."""
    return [_told(item) if isinstance(item, torch.Tensor) else repr(item)[:80] for item in flat]


def _told(tensor):
    return {
        "size": _numbers(tensor.shape),
        "stride": _numbers(tensor.stride()),
        "dtype": str(tensor.dtype).split(".")[-1],
        "device": str(tensor.device),
    }


def _numbers(sizes):
    """A size that is known at run time only equals none."""
    return [size if isinstance(size, int) else "?" for size in sizes]


def _described(torch, results, inputs):
    """Of each result: what it is, and the number of the input whose memory it shares; None for what is no tensor."""
    memory = {}
    for number, item in enumerate(inputs):
        if isinstance(item, torch.Tensor):
            memory.setdefault(item.untyped_storage()._cdata, number)
    found = []
    for item in compat.flattened(results)[0]:
        if not isinstance(item, torch.Tensor) or item.layout is not torch.strided:
            found.append(None)
            continue
        of = memory.get(item.untyped_storage()._cdata)
        found.append(dict(_told(item), of=of, offset=item.storage_offset()))
    return found


def _differ(real, fake):
    return len(real) != len(fake) or any(_facts(a) != _facts(b) for a, b in zip(real, fake))  # noqa: B905 - Python 3.9


def _facts(told):
    """What of it can matter: no stride along which there is nothing to step, no place in memory of its own."""
    if told is None:
        return None
    size = told["size"]
    steps = [step for extent, step in zip(size, told["stride"]) if extent != 1 and 0 not in size]  # noqa: B905
    return size, steps, told["dtype"], told["device"], told["of"], told["offset"] if told["of"] is not None else 0


def _write(line):
    with open(FILE, "a") as file:
        file.write(json.dumps(line) + "\n")
