"""The phases of an Inductor compile: where a candidate is, and where it may stop because it has passed.

A candidate that passes is the dear one: it goes on through scheduling, code generation and a C++ build. When the original
failure lies in an earlier phase, all that follows says nothing about it. `cut_off` names the phase that failed originally;
a graph that gets past it is not compiled further but run as it is, operation by operation, so that later graphs, backward
passes and later calls still get their chance to fail.

Phases in order: lowering (Inductor's passes included), scheduling, codegen, build, run. Each is told as a breadcrumb of
the form `lowering of the forward graph 0/0`. A torch without the patch points tells nothing and cuts nothing off.
"""

import contextlib
import functools
import threading

from .. import compat
from . import proc

CUTS = ("lowering", "scheduling", "codegen")


class Passed(BaseException):
    """Unwinds a compile that has got past the phase of interest. No code of torch catches BaseException there."""


class Watch:
    """Where the compile is. Nested graphs (bodies of cond, kernels that are tried out) belong to the phase they are in."""

    def __init__(self, recorder, cut_off, stop):
        self.recorder = recorder
        self.stop = stop  # what to do where a graph cannot be left uncompiled
        self.cut_off = cut_off if cut_off in CUTS else None
        self._local = threading.local()

    @property
    def phase(self):
        return getattr(self._local, "phase", None)

    def enter(self, phase):
        """Tell that a phase begins."""
        self._local.phase = phase
        self.recorder.breadcrumb("%s of the %s graph %s" % (phase, self._local.direction, self._local.graph))

    def begin(self, backward):
        """A graph arrives at Inductor."""
        self._local.direction = "backward" if backward else "forward"
        self._local.graph = compat.compile_id()
        self.enter("lowering")

    def move(self, old, new, lowering):
        """From one phase to the next, if that is where we are. Raises Passed where it is far enough."""
        if self.phase != old:
            return
        if self.cut_off == old:
            compat.report_output_strides(lowering)
            self._local.phase = None
            raise Passed
        self.enter(new)

    def leave(self):
        """The compile of this graph has ended, one way or another."""
        self._local.phase = None


def install(recorder, cut_off=None):
    """Patch the points between the phases in this process. Inductor must have been imported."""
    points = compat.inductor_phases()
    if isinstance(points, compat.Missing):
        recorder.channel.say("missing", feature="phases", reason=points.reason)
        return
    watch = Watch(recorder, cut_off, _end_candidate)
    for owner, name, replacement in _patches(points, watch):
        setattr(owner, name, replacement)


@contextlib.contextmanager
def cut_off_after(phase, recorder):
    """Inductor compiles nothing beyond this phase while the context is open; a compile may end with Passed."""
    points = compat.inductor_phases()
    patches = list(_patches(points, Watch(recorder, phase, _give_up))) if points else []
    kept = [(owner, name, owner.__dict__[name]) for owner, name, _ in patches]
    for owner, name, replacement in patches:
        setattr(owner, name, replacement)
    try:
        yield
    finally:
        for owner, name, original in kept:
            setattr(owner, name, original)


def _patches(points, watch):
    lowering, depth = points.graph_lowering, threading.local()
    yield lowering, "run", _lowering_run(lowering.run, depth)
    yield lowering, "compile_to_module", _lowering_to_module(lowering.compile_to_module, watch, depth)
    for name in ("codegen", "codegen_with_cpp_wrapper"):
        if hasattr(lowering, name):
            yield lowering, name, _codegen(getattr(lowering, name), watch)
    yield points.scheduler, "__init__", _scheduler_init(points.scheduler.__init__, watch, points)
    yield (
        points.compile_fx,
        points.inner_name,
        _compile_inner(getattr(points.compile_fx, points.inner_name), watch, points),
    )


def _lowering_run(original, depth):
    @functools.wraps(original)
    def run(self, *args, **kwargs):
        depth.value = getattr(depth, "value", 0) + 1
        try:
            return original(self, *args, **kwargs)
        finally:
            depth.value -= 1

    return run


def _lowering_to_module(original, watch, depth):
    @functools.wraps(original)
    def compile_to_module(self, *args, **kwargs):
        if getattr(depth, "value", 0):
            return original(self, *args, **kwargs)
        watch.move("lowering", "scheduling", self)
        module = original(self, *args, **kwargs)
        watch.move("build", "run", self)
        return module

    return compile_to_module


def _codegen(original, watch):
    @functools.wraps(original)
    def codegen(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        watch.move("codegen", "build", self)
        return result

    return codegen


def _scheduler_init(original, watch, points):
    @functools.wraps(original)
    def __init__(self, *args, **kwargs):  # noqa: N807  (it becomes the method of this name)
        original(self, *args, **kwargs)
        watch.move("scheduling", "codegen", points.virtualized.graph)

    return __init__


def _compile_inner(original, watch, points):
    """The function that compiles one ATen graph; where the compile was cut off, the graph itself is its result."""

    @functools.wraps(original)
    def compile_inner(gm, example_inputs, *args, **kwargs):
        if watch.phase is not None:
            return original(gm, example_inputs, *args, **kwargs)
        watch.begin(bool(kwargs.get("is_backward")))
        kept = compat.copy_graph(gm) if watch.cut_off else None
        try:
            return original(gm, example_inputs, *args, **kwargs)
        except Passed:
            watch.recorder.channel.say("cut_off", after=watch.cut_off)
            if not points.result_may_be_function:
                watch.stop(watch.recorder)
            return _stand_in(kept, watch)
        finally:
            watch.leave()

    return compile_inner


def _stand_in(gm, watch):
    """A function with Inductor's calling convention (one list, emptied) that runs the graph's operations one by one."""
    import torch

    def call(args):
        inputs = list(args)
        args.clear()
        try:
            with torch.no_grad():
                return gm(*inputs)
        except Exception:
            # Nothing the failure we look for has a part in: some operations exist only in compiled code.
            watch.stop(watch.recorder)

    call._boxed_call = True
    return call


def _end_candidate(recorder):
    """End this process: the candidate has passed."""
    recorder.end()
    proc.leave(0)


def _give_up(recorder):
    """Unwind the compile that was only tried."""
    raise Passed
