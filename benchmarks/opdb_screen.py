"""Looks through PyTorch's own operator samples for scripts whose check fails: `python opdb_screen.py REQUEST.json`.

Run as a program of its own, with torch. The request holds count, only, seed, dtypes, backend, per_op, strides, plant and
out; `out` gets one JSON line per (operation, dtype), with the scripts that fail, so that the next request goes on where this
one stopped. Each pair is looked at in a forked child with a time limit: a sample that crashes or hangs costs no more than
itself. With `plant` each sample gets a fault in the compiler, for which `benchmarks/planted` must be on PYTHONPATH.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
import random
import sys
import time
import warnings
from pathlib import Path
from unittest.mock import patch

import opdb_judge
import opdb_plant
import torch
from opdb_forks import CHECK, ended, in_child, lines, warm_up
from opdb_samples import family, function_of, is_random
from opdb_text import STRICT, Call, UnprintableError, script

PAIR_SECONDS = 30.0
HEALTHY = {False: ("", opdb_judge.ROUNDING, "strides"), True: ("", opdb_judge.ROUNDING)}  # by whether strides count
SAMPLES = 3  # of an operation and dtype that are tried


def main(file):
    request = json.loads(Path(file).read_text(encoding="utf-8"))
    known = {(line["op"], line["dtype"]) for line in lines(request["out"])}
    found = sum(wanted(line["scripts"], request["only"]) for line in lines(request["out"]))
    warm_up(request["backend"])
    for info, dtype in pairs(request["dtypes"], request["seed"]):
        if found >= request["count"]:
            return
        key = (info.formatted_name, str(dtype).split(".")[-1])
        if key in known:
            continue
        scripts = in_child(lambda: failing(info, dtype, request), PAIR_SECONDS) or []  # noqa: B023
        found += wanted(scripts, request["only"])
        with Path(request["out"]).open("a", encoding="utf-8") as out:
            out.write(json.dumps({"op": key[0], "dtype": key[1], "scripts": scripts}) + "\n")


def wanted(scripts, only):
    """How many of these are asked for: all, the real ones, or those that (with no fault) only round otherwise."""
    kinds = [(only == "rounding" and script.get("healthy")) or script["kind"] for script in scripts]
    return sum(
        only == "all" or (kind in (opdb_judge.ROUNDING, opdb_judge.ALIKE)) == (only == "rounding") for kind in kinds
    )


def pairs(dtypes, seed):
    """(operation, dtype) in an order that is shuffled once."""
    from torch.testing._internal.common_methods_invocations import op_db

    wanted = [getattr(torch, name) for name in dtypes]
    found = [
        (info, dtype)
        for info in op_db
        for dtype in wanted
        if dtype in info.supported_dtypes("cpu") and callable_name(info)
    ]
    random.Random(seed).shuffle(found)
    return found


def callable_name(info):
    """How a person calls it, None where that is not simply a function of torch."""
    return None if is_random(info.name) or info.variant_test_name else function_of(info)


def failing(info, dtype, request):
    """The scripts of this operation whose own check fails, at most `per_op`."""
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    until, found = time.monotonic() + PAIR_SECONDS / 2, []
    rng = random.Random(f"{request['seed']} {info.formatted_name} {dtype}") if request["plant"] else None
    samples = printable(info, dtype, request["backend"])
    if rng is not None:  # those that round otherwise first
        samples = list(samples)
        rng.shuffle(samples)
        samples.sort(key=lambda sample: dtype.itemsize == 2 and kind(sample[1]()) != opdb_judge.ROUNDING)
    for name, make in samples:
        if len(found) >= request["per_op"] or time.monotonic() > until:
            return found
        if rng is not None:
            found += [{"name": name, **made} for made in planted(make, rng, until)]
        elif check_fails(text := make(strides=request["strides"])):
            found.append({"name": name, "source": text, "kind": kind(text)})
    return found


def printable(info, dtype, backend):
    """(name, what gives the text) of the samples that have a text, forward and with gradients."""
    backwards = [family(dtype)] if info.supports_autograd and family(dtype) else []
    for number, sample in enumerate(itertools.islice(info.sample_inputs("cpu", dtype), SAMPLES)):
        for backward in ("", *backwards):
            call = Call(callable_name(info), (sample.input, *sample.args), sample.kwargs)
            make = functools.partial(script, call, backend, backward=backward)
            with contextlib.suppress(UnprintableError):
                make()
                yield f"{info.name}-{str(dtype).split('.')[-1]}-{number}{'-grad' if backward else ''}", make


def planted(make, rng, until):
    """The sample with the first fault that its own check fails through and that is no rounding, if there is one.

    `make` gives its text, that which looks at strides for a fault in these.
    """
    with under([opdb_plant.NOWHERE]) as told:
        plain, strict = (kind(make(strides=strides)) for strides in (False, True))
    operations = [name for fact in told for name in fact.get("operations", ())]
    for target in opdb_plant.plans(operations, rng):
        if time.monotonic() > until:
            return []
        strides = target.kind == "strides"
        source, healthy = make(strides=strides), strict if strides else plain
        shown = shows(source, [target])
        if healthy in HEALTHY[strides] and shown not in ("", opdb_judge.ROUNDING, "exception"):
            decoy = lying_in_wait(source, target, shown, healthy, rng)
            faults = [dataclasses.asdict(fault) for fault in (*decoy, target)]
            return [{"source": source, "kind": shown, "healthy": healthy, "faults": faults}]
    return []


def lying_in_wait(source, target, shown, healthy, rng):
    """A decoy that shows nothing in this script."""
    for decoy in opdb_plant.decoys(target, shown, rng):
        if shows(source, [decoy, target]) == shown and shows(source, [decoy]) in ("", healthy):
            return [decoy]
    return []


def shows(text, faults):
    """What the judge says of a script under these faults, nothing where its own check passes."""
    with under(faults):
        return kind(text) if check_fails(text) else ""


@contextlib.contextmanager
def under(faults):
    """The compiler of this process has these faults; gives what it tells."""
    import planted_faults

    told = []
    given = [dataclasses.asdict(fault) for fault in faults]
    with patch.multiple(planted_faults, read_faults=lambda: given, tell=told.append):
        yield told


def kind(text):
    """What the judge says of a script whose check fails."""
    watch, compiler = opdb_judge.Watch(), torch.compile
    torch.compile = watch
    try:
        check_fails(text)
    finally:
        torch.compile = compiler
    return opdb_judge.worst(watch.kinds, STRICT in text)


def check_fails(text):
    """Whether the script's own comparison fails, after both have run."""
    return ended(text) == CHECK


if __name__ == "__main__":
    main(sys.argv[1])
