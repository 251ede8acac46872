"""Install the agent in this interpreter: the hooks, the last words of a dying process, the time limit's stacks.

`install(config)` is called once, before the program starts (or after torch has been imported, in the fork server). The config
is the probe's: `channel` (directory), `rung` (backend to force, `uncompiled`, one of `doors`, or null for as it is), `capture`
(write every graph before it is compiled), `record_values`, `accuracy` (compare compiled graphs with eager, see `compare`),
`uncompiled_graphs` (Dynamo's names of graphs that are given to no backend), `opcheck` (names of custom operators to check, see
`opchecks`), `explain` (tell breaks, recompilations and times), `settle` (so
many calls and seconds without a compile end a program that is explained), `compile_arguments` (what torch.compile is told
besides), `seed` (of all random numbers), `unwrapped` (modules come back as they are), `unwritten` (what memory holds that nobody
wrote, see `unwritten`), `overlay` (files with another text, see `overlay`), `timed` (calls of compiled functions are
measured), `held` (it waits at the first of them, see `held`), `turns` (measured in turns with other modes, see `turns`),
`shared` (where answers about the machine's compiler lie, see `shared_cache`), `kernels` (where what others of this run built
lies, see `built_kernels`), `stop_after` (`calls`, `backwards`, and the `seconds` that the program has at least), `stop_later`
(that is told in a file while the program runs), `stacks_signal` (which asks for the stacks of all threads, at the time limit),
`stacks_after` (seconds until they are written unasked, where no signal can ask).
"""

import atexit
import contextlib
import faulthandler
import os
import platform
import sys
import threading

from .. import compat
from ..capture import surroundings
from ..compare import randomness
from ..trace import lines
from . import (
    boundary,
    built_extensions,
    built_kernels,
    confine,
    doors,
    frames,
    held,
    imports,
    optimize,
    overlay,
    processes,
    shared_cache,
    testrunners,
)
from .channel import Channel
from .leaving import Leaving
from .recorder import Recorder
from .settled import times_count


def install(config):
    """Hook this interpreter. Returns the recorder."""
    surroundings.remember()
    door = doors.named(config.get("rung"))
    if door is not None:
        config = dict(config, rung=None)
    channel = Channel(config["channel"])
    recorder = Recorder(channel, config)
    channel.say("start", pid=os.getpid(), python=platform.python_version(), argv=_argv())
    _last_words(recorder, ours=config.get("rung") is not None or bool(config.get("overlay")))
    note_stacks(config)
    shared, kernels = config.get("shared"), config.get("kernels")
    places = (shared, shared_cache.headers_below(shared)) if shared else ()
    confine.install_if_asked(config["channel"], *places, kernels)

    imports.after_import(_patches(recorder, config))
    if shared:
        imports.after_import(shared_cache.patches(shared))
    if kernels:
        imports.after_import(built_kernels.patches(kernels))
    extensions = config.get("extensions")
    if extensions or kernels:
        private = os.environ.get("TORCH_EXTENSIONS_DIR") if extensions else None
        imports.after_import(built_extensions.patches(extensions or kernels, private))
    if door is not None:
        imports.after_import(doors.patches(door))
    _add_what_is_asked(recorder, config)
    lines.install(recorder)
    return recorder


def _patches(recorder, config):
    """What is done to modules of every run, right after each was imported."""
    only_test = config.get("only_test")
    return {
        "torch": lambda module: _patch_torch(module, recorder, config),
        "torch._inductor": lambda module: None,  # it is large
        "torch._dynamo": lambda module: optimize.patch_dynamo(module, recorder),
        "torch._dynamo.convert_frame": lambda module: frames.patch_convert_frame(module, recorder),
        "torch._dynamo.output_graph": lambda module: frames.patch_output_graph(module, recorder),
        "torch._inductor.config": lambda module: _same_random_numbers(module, config),
        "torch._inductor.compile_fx": lambda module: frames.patch_compile_fx(module, recorder),
        "torch._dynamo.repro.after_aot": compat.without_repro_copy,
        "_pytest.cacheprovider": testrunners.patch_cache,
        "_pytest.main": lambda module: testrunners.patch_collection(module, recorder, only_test),
        "_pytest.runner": lambda module: testrunners.patch_pytest(module, recorder),
        "multiprocessing.process": lambda module: processes.patch(module, recorder),
        "unittest.result": lambda module: testrunners.patch_unittest(module, recorder),
        "unittest.suite": lambda module: testrunners.patch_suite(module, recorder, only_test),
    }


def _patch_torch(torch, recorder, config):
    recorder.channel.say("torch", version=str(torch.__version__), python=platform.python_version())
    if config.get("seed") is not None:
        randomness.seed_everything(torch, int(config["seed"]))
    boundary.patch_torch(torch, recorder)
    if config.get("opcheck"):
        from ..compare import opchecks

        opchecks.install(torch, recorder)
    if config.get("accuracy"):
        from ..compare import graphs  # only where it is asked for: it costs every probe some milliseconds

        recorder.comparer = graphs.Comparer(torch, recorder, config["accuracy"])


def _add_what_is_asked(recorder, config):
    """What few runs are asked: changed texts of the program's files, steps in turns, graph breaks and times."""
    if config.get("overlay"):
        overlay.install(config["overlay"])
        imports.after_import({"runpy": overlay.patch_runpy, "_pytest.assertion.rewrite": overlay.patch_rewriting})
    if config.get("held"):
        recorder.held = held.Held(recorder.channel, config["held"])
    if config.get("turns"):
        from . import turns

        recorder.turns = turns.installed = turns.Turns(recorder, config["turns"])
        if config["turns"].get("profile"):
            imports.after_import({"torch._inductor.config": turns.profiling.mark_kernels})
    if config.get("explain"):
        from ..explain import watch  # only where it is asked for

        imports.after_import(watch.patches(recorder))
    if config.get("turns") or config.get("explain"):
        times_count()


def _same_random_numbers(inductor_config, config):
    """Where results are compared, Inductor draws random numbers as eager does."""
    if config.get("accuracy"):
        inductor_config.fallback_random = True


def _argv():
    return [str(word)[:200] for word in getattr(sys, "orig_argv", getattr(sys, "argv", []))][:40]


def _last_words(recorder, ours):
    """Record the uncaught exception whatever the program made of `sys.excepthook`. `ours`: not the program as it is."""
    previous, leaving = sys.excepthook, Leaving(ours)

    def excepthook(kind, error, trace):
        leaving.printing()
        recorder.uncaught(error)
        previous(kind, error, trace)

    sys.excepthook = excepthook

    def printed():
        # The interpreter keeps the exception it printed, also where another excepthook was installed.
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if isinstance(error, BaseException):
            recorder.uncaught(error)

    def at_exit():
        printed()
        recorder.end()
        leaving.leave(by_signal=recorder.hushed)

    # Exit handlers come after the last thread has ended, which may never be.
    wait_for_threads = threading._shutdown

    def main_thread_ended():
        try:
            printed()
            recorder.main_thread_ended()
        finally:
            wait_for_threads()

    threading._shutdown = main_thread_ended
    atexit.register(at_exit)
    _before_leaving(recorder)


def _before_leaving(recorder):
    """What was counted is told before `os._exit`, too: no exit handler runs in a program that ends so, as forked workers do."""
    leave = os._exit

    def leaving(status):
        try:
            recorder.tell_totals()
        finally:
            leave(status)

    os._exit = leaving
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recorder.forked)


def note_stacks(config):
    """Python stacks on a fatal signal and at the time limit, into files of the channel: when a signal asks for them, or
    after so many seconds, which may read the frames of a thread that goes on and crash.
    """
    try:
        fatal = open(os.path.join(config["channel"], "fatal-%d.txt" % os.getpid()), "w")  # noqa: SIM115
        faulthandler.enable(file=fatal, all_threads=True)
        if config.get("stacks_signal"):
            _when_asked(config)
            if hasattr(os, "register_at_fork"):  # a worker of a DataLoader may be what the others wait for
                os.register_at_fork(after_in_child=lambda: _when_asked(config))
        elif config.get("stacks_after"):
            faulthandler.dump_traceback_later(float(config["stacks_after"]), repeat=False, file=_late(config))
    except Exception:
        return


def _when_asked(config):
    with contextlib.suppress(Exception):
        faulthandler.register(int(config["stacks_signal"]), file=_late(config), all_threads=True)


def _late(config):
    return open(os.path.join(config["channel"], "stacks-%d.txt" % os.getpid()), "w")
