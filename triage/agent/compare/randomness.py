"""Run a compiled function's code on another random stream, uncompiled: does the program's own check depend on it?

torch.compile draws random numbers from generators of its own (unless Inductor's `fallback_random` is set), so a script
that compares a dropout mask with the one eager mode drew from the same seed fails without any bug. The way to tell: leave
the function uncompiled, but let it draw other numbers. Where nothing random is drawn this changes nothing, because the
state of every generator is put back when the function returns.
"""

import contextlib
import random
import sys


def seed_everything(torch, seed):
    """Every global generator begins with this seed; those of a program that seeds them itself begin where it says."""
    random.seed(seed)
    with contextlib.suppress(Exception):
        torch.manual_seed(seed)  # of all devices
    with contextlib.suppress(Exception):
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed)


@contextlib.contextmanager
def other_stream(torch, whose="all"):
    """Other numbers from torch's, NumPy's and Python's global generators inside; their state as before afterwards.

    From NumPy's alone where `whose` is `numpy`: Dynamo by itself draws all others as eager mode does.
    """
    put_back = kept(torch)
    if whose == "all":
        with contextlib.suppress(Exception):
            torch.default_generator.manual_seed(torch.initial_seed() + 7919)
        with contextlib.suppress(Exception):
            if torch.cuda.is_initialized():
                torch.cuda.manual_seed_all(torch.initial_seed() + 7919)
        random.seed(7919)
    with contextlib.suppress(Exception):
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(7919)
    try:
        yield
    finally:
        put_back()


def kept(torch):
    """A function that puts every global generator back to the state it is in now."""
    restore = []
    with contextlib.suppress(Exception):
        state = torch.get_rng_state()
        restore.append(lambda: torch.set_rng_state(state))
    with contextlib.suppress(Exception):
        if torch.cuda.is_initialized():
            states = torch.cuda.get_rng_state_all()
            restore.append(lambda: torch.cuda.set_rng_state_all(states))
    numpy = sys.modules.get("numpy")
    with contextlib.suppress(Exception):
        if numpy is not None:
            drawn = numpy.random.get_state()
            restore.append(lambda: numpy.random.set_state(drawn))
    python = random.getstate()
    restore.append(lambda: random.setstate(python))

    def put_back():
        for one in restore:
            with contextlib.suppress(Exception):
                one()

    return put_back
