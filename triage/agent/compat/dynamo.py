"""Dynamo: the names, counts and times of its compiles, its backends, and the scripts of PyTorch's own minifier."""

import functools
import os
import sys

from .feature import Missing

_graph_break_ids = {}
_ASKED_FOR_REASONS = (  # with the cache entries and the frame that none of them fits; the answer is what would be logged
    "get_and_maybe_log_recompilation_reasons",
    "get_and_maybe_log_recompilation_reason",  # one, in 2.2 to 2.4 at least
)


def compile_id():
    """Dynamo's own name of the graph that is being compiled, `frame/recompile`, e.g. 0/1."""
    try:
        found = sys.modules["torch._guards"].CompileContext.current_compile_id()
        return str(found).strip("[]") if found is not None else "?"
    except Exception:
        return "?"


def watch_frames(convert_frame, inner, outer):
    """Have `inner` wrap what compiles a frame, and `outer` what goes on without it where that raises."""
    if hasattr(convert_frame, "ConvertFrame"):
        for kind, watch in ((convert_frame.ConvertFrameAssert, inner), (convert_frame.ConvertFrame, outer)):
            kind.__call__ = watch(kind.__call__)
        return
    for name, watch in (("convert_frame_assert", inner), ("convert_frame", outer)):  # before 2.3: they make functions
        setattr(convert_frame, name, _making(getattr(convert_frame, name), watch))


def _making(maker, watch):
    @functools.wraps(maker)
    def make(*args, **kwargs):
        return watch(maker(*args, **kwargs))

    return make


def forget_compiles():
    """As if nothing had been compiled in this process yet; more than `torch._dynamo.reset` does before 2.7."""
    torch = sys.modules["torch"]
    torch._dynamo.reset()
    try:
        sys.modules["torch._dynamo.utils"].counters.clear()
        convert_frame = sys.modules["torch._dynamo.convert_frame"]
        convert_frame.FRAME_COUNTER = 0
        convert_frame.FRAME_COMPILE_COUNTER.clear()
    except (KeyError, AttributeError):
        pass
    # The table that compiles read is a copy made by the first of them: later registrations would not be seen.
    module = sys.modules.get("torch._inductor.decomposition")
    for function in list(vars(module).values()) if module is not None else ():
        if callable(getattr(function, "cache_clear", None)):
            function.cache_clear()


def frame_setter():
    """A function that has frames looked at by what it is given (by nothing: None), and returns what looked at them before.

    Code of ours that is called from a frame of the program's, where Dynamo goes on without a graph, would be compiled as
    well, and its graph breaks counted as the program's.
    """
    module = sys.modules.get("torch._C._dynamo.eval_frame")
    return getattr(module, "set_eval_frame", lambda callback: None)


def pass_over(function):
    """Have Dynamo leave the frames of this function alone, and not those that it calls."""
    skip = getattr(sys.modules.get("torch._dynamo.eval_frame"), "skip_code", None)
    if skip is not None:
        skip(function.__code__)


def leave_unnamed(path):
    """Have Dynamo take this file for one without functions in the headers of its log, for which it tokenizes all of it.

    It does so whether anybody logs or not, and a table of some ten thousand numbers takes it longer than the rest of a compile.
    """
    cache = getattr(sys.modules.get("torch._dynamo.funcname_cache"), "cache", None)
    if isinstance(cache, dict):
        cache[path] = {}


def recompile_limit():
    """How many compiled versions of one function Dynamo keeps; None where this torch does not say."""
    config = sys.modules.get("torch._dynamo.config")
    for name in ("recompile_limit", "cache_size_limit"):  # the latter before 2.6
        try:
            return int(getattr(config, name))
        except Exception:
            continue
    return None


def recompilations():
    """How often a function was compiled because the guards of all that had been compiled of it failed.

    `guard_failures` has a line for each of these: one at the first time, two at the second. So the compiles of each frame are
    counted, and that table tells whether any of them was for a guard.
    """
    failures = getattr(sys.modules.get("torch._dynamo.utils"), "guard_failures", None)
    told = sum(len(entries) for entries in dict(failures or {}).values())
    compiles = getattr(sys.modules.get("torch._dynamo.convert_frame"), "FRAME_COMPILE_COUNTER", None)
    return min(told, sum(count - 1 for count in dict(compiles).values() if count)) if compiles else told


def watch_recompiles(convert_frame, tell):
    """Have `tell(frame, reasons, entries)` called where Dynamo compiles a function that it has `entries` of already."""
    names = [name for name in _ASKED_FOR_REASONS if hasattr(convert_frame, name)]
    for name in names:
        setattr(convert_frame, name, _telling_reasons(getattr(convert_frame, name), tell))
    if not names and hasattr(convert_frame, "is_recompilation"):
        _watch_recompiles_of_2_1(convert_frame, tell)


def _telling_reasons(original, tell):
    @functools.wraps(original)
    def reasons_of(entries, frame, *args, **kwargs):
        reasons = original(entries, frame, *args, **kwargs)
        found = [reasons] if isinstance(reasons, str) else list(reasons) if isinstance(reasons, (list, tuple)) else []
        tell(frame, found, len(entries) if isinstance(entries, (list, tuple)) else 0)
        return reasons

    return reasons_of


def _watch_recompiles_of_2_1(convert_frame, tell):
    """There a count is asked about by the function that has the frame, and the guard that failed stands in a table."""
    original, config = convert_frame.is_recompilation, sys.modules["torch._dynamo.config"]
    config.report_guard_failures = True  # as TORCH_LOGS=recompiles does: else the table is empty

    @functools.wraps(original)
    def is_recompilation(cache_size):
        again = original(cache_size)
        frame = sys._getframe(1).f_locals.get("frame")
        if again and frame is not None:
            tell(frame, list(convert_frame.guard_failures.get(frame.f_code, ()))[-1:], cache_size)
        return again

    convert_frame.is_recompilation = is_recompilation


def graph_break_id(kind):
    """The id (`GB0059`) of a kind of graph break in torch's registry (2.8 and newer), None where it has none."""
    import json

    if not _graph_break_ids:
        _graph_break_ids[""] = None
        try:
            home = os.path.dirname(sys.modules["torch._dynamo"].__file__)
            with open(os.path.join(home, "graph_break_registry.json"), encoding="utf-8") as file:
                for number, entries in json.load(file).items():
                    _graph_break_ids.update({entry["Gb_type"]: number for entry in entries})
        except Exception:
            pass
    return _graph_break_ids.get(kind)


def compile_phases():
    """Seconds by Dynamo's own name of the phase, which may lie inside another; empty where nothing was compiled."""
    utils = sys.modules.get("torch._dynamo.utils")
    nanoseconds = getattr(utils, "cumulative_time_spent_ns", None)  # 2.6 and newer
    if nanoseconds:
        return {str(name): float(spent) / 1e9 for name, spent in dict(nanoseconds).items()}
    for name in ("compilation_time_metrics", "compilation_metrics"):
        found = getattr(utils, name, None)
        try:
            return {str(phase): float(sum(spent)) for phase, spent in dict(found).items()}
        except Exception:
            continue
    return {}


def compile_metrics():
    """What Dynamo noted of each of its last 64 compiles: the frame, the seconds, the size; empty before 2.2."""
    ask = getattr(sys.modules.get("torch._dynamo.utils"), "get_compilation_metrics", None)
    try:
        return [
            {
                "graph": getattr(each, "compile_id", None) or getattr(each, "frame_key", None),
                "function": getattr(each, "co_name", None),
                "file": getattr(each, "co_filename", None),
                "line": getattr(each, "co_firstlineno", None),
                "seconds": getattr(each, "entire_frame_compile_time_s", None),
                "us": getattr(each, "duration_us", None),
                "ops": getattr(each, "graph_op_count", None),
                "failed": getattr(each, "fail_type", None),
            }
            for each in (ask() if ask is not None else ())
        ]
    except Exception:
        return []


def registered_backend(name):
    """The function that torch.compile takes for a backend's name, loaded as torch.compile loads it; None where there is none."""
    try:
        from torch._dynamo.backends.registry import lookup_backend

        return lookup_backend(name)
    except Exception:
        return None


def stance_setter(torch):
    """What has compiled functions run as they are, with "force_eager" (2.6 and newer)."""
    return getattr(torch.compiler, "set_stance", None) or Missing("torch.compiler has no set_stance")


def leave_log_files():
    """In a copy of a process: torch's loggers no longer write into the files of that, TORCH_LOGS_OUT and TORCH_TRACE."""
    import logging  # not earlier: it has an exit handler, which is to be seen as the program's

    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] == "torch":
            logger = logging.getLogger(name)
            for handler in list(logger.handlers):
                if isinstance(handler, logging.FileHandler) or name == "torch.__trace":
                    logger.removeHandler(handler)


def spelled_backend(name):
    """(the module to import, the expression) that give a backend by its name in every release: 2.1 has no shorter one."""
    home = "torch._dynamo.backends.registry"
    return home, '%s.lookup_backend("%s")' % (home, name)


def standing_for(compiled, wrapper):
    """The wrapper; where it stands for what torch.compile gave, one that torch.compile looks through as it does through that.

    What is compiled twice is compiled once; a mere copy of the attributes is not known for that, and refused.
    """
    if getattr(compiled, "_torchdynamo_wrapper_id", None) == id(compiled):
        wrapper._torchdynamo_wrapper_id = id(wrapper)
    return wrapper


def repro_input_reader():
    """The class that gives the inputs of a script of PyTorch's minifier: `InputReader(save_dir=...)`, then `.args`."""
    try:
        from torch._dynamo.debug_utils import InputReader
    except Exception as error:
        return Missing("torch._dynamo.debug_utils.InputReader cannot be imported: %s" % error)
    return InputReader


def without_repro_copy(after_aot):
    """Keep `torch._dynamo.repro.after_aot` from copying checkpoints to `repro.py` in the program's own directory.

    The file may be the user's. The module names `shutil` for nothing else, and a copy that fails is only logged.
    """
    import shutil

    class Shutil(object):
        copyfile = staticmethod(lambda source, goal: goal)

        def __getattr__(self, name):
            return getattr(shutil, name)

    if hasattr(after_aot, "shutil"):
        after_aot.shutil = Shutil()
