"""The warm interpreter on a machine with a GPU: what is made ready without touching the device, and whether a fork can use it."""

import contextlib
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
        from triton.runtime import driver

        getattr(driver.active, "utils", None)
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


def why_unusable_in_a_fork(torch, after=None):
    """What goes wrong when a forked child uses the GPU; empty where nothing does, or no GPU can be used at all.

    With `after` a child calls that first, and a child of its own uses the GPU: whether this process may do the same.

    It is tried, not guessed: a child of a process that initialised CUDA cannot use it, but neither torch's own word for that
    nor the open devices tell it. Counting GPUs by NVML opens them all, and harms no fork (driver 580 with torch 2.11).
    """
    names = [name for name in ("cuda", "xpu") if hasattr(torch, name) and getattr(torch, name).is_available()]
    if not names:
        return ""
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(said)
        _try(torch, names[0], say, after)
    os.close(say)
    try:
        return _answer(child, said)
    finally:
        os.close(said)


def _try(torch, name, say, after):
    """In the child: never returns."""
    try:
        if after is not None:
            after()
            why = why_unusable_in_a_fork(torch)
        else:
            (torch.ones(2, device=name) + 1).sum().item()
            why = ""
        os.write(say, why.encode("utf-8", "replace") or b"ok")
    except BaseException as error:
        os.write(say, ("%s: %s" % (type(error).__name__, error)).encode("utf-8", "replace")[:400])
    finally:
        os._exit(0)


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
