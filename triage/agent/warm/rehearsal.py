"""Whether a forked child can do what candidates do is tried in one, not guessed; and what is kept from the GPU before that.

A child can neither use a GPU that its parent has initialised, nor take gradients once autograd has started a thread for a
device in its parent. Neither shows from outside: counting GPUs by NVML opens them all and harms no fork (driver 580 with
torch 2.11), and builds for CUDA start eight such threads for a joint graph on the CPU (torch 2.11).
"""

import contextlib
import importlib
import os
import select
import signal
import time

CHECK_SECONDS = 60.0  # a context takes less than one second, on a GPU that others use a few


def load_driver():
    """Build and load Triton's bridge to the driver (a run of the C compiler), which each candidate would do anew.

    It loads the driver's library and asks it nothing. A Triton that cannot do it will say so in the candidates.
    """
    try:
        getattr(importlib.import_module("triton.runtime").driver.active, "utils", None)
    except Exception:
        return


@contextlib.contextmanager
def left_alone(torch):
    """Dynamo saves and restores the state of the GPU's random numbers round each compile, which initialises CUDA: not here."""
    cuda = torch.cuda
    kept = cuda.get_rng_state, cuda.set_rng_state
    cuda.get_rng_state = lambda *_: torch.get_rng_state()
    cuda.set_rng_state = lambda *_: None
    try:
        yield
    finally:
        cuda.get_rng_state, cuda.set_rng_state = kept


def what_fails_in_a_child(torch, after=None):
    """What goes wrong when a forked child takes a gradient where this torch computes; empty where nothing does.

    With `after` a child calls that first, and a child of its own takes the gradient: whether this process may do the same.
    """
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(said)
        _try(torch, say, after)
    os.close(say)
    try:
        return _answer(child, said)
    finally:
        os.close(said)


def _try(torch, say, after):
    """In the child: never returns."""
    try:
        if after is not None:
            after()
            why = what_fails_in_a_child(torch)
        else:
            torch.ones(2, device=_device(torch), requires_grad=True).sum().backward()
            why = ""
        os.write(say, why.encode("utf-8", "replace") or b"ok")
    except BaseException as error:
        os.write(say, ("%s: %s" % (type(error).__name__, error)).encode("utf-8", "replace")[:400])
    finally:
        os._exit(0)


def _device(torch):
    """A GPU where there is one."""
    for name in ("cuda", "xpu"):
        if hasattr(torch, name) and getattr(torch, name).is_available():
            return name
    return "cpu"


def _answer(child, said):
    end = time.monotonic() + CHECK_SECONDS
    told = b""
    ready = select.poll()
    ready.register(said, select.POLLIN | select.POLLHUP)
    if ready.poll((end - time.monotonic()) * 1000.0):
        told = os.read(said, 400)
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if told == b"ok":
        return ""
    if told:
        return told.decode("utf-8", "replace").splitlines()[0]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
        return "it died of signal %d" % os.WTERMSIG(status)
    return "no answer within %.0f s" % CHECK_SECONDS
