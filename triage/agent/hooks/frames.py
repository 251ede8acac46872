"""Hooks inside Dynamo and Inductor: which frame and graph a failure belongs to, and the graphs themselves.

* `ConvertFrame.__call__` swallows errors under `suppress_errors`; what it swallowed is recorded (graph breaks are not
  failures and are only counted).
* `OutputGraph.call_user_compiler` hands every Dynamo graph to every backend: breadcrumbs, the graph as data before it is
  compiled, and a watch on its first run.
* `compile_fx` takes `inner_compile`: a wrapper there sees every ATen graph, forward and backward, before Inductor changes
  it. Replacing `compile_fx_inner` in its module would change nothing, it is bound as a default argument.
"""

import functools
import inspect
import json
import sys
import threading

from .. import compat
from ..capture import later
from ..compat import gpu
from .running import note_of

GRAPH_LIMIT = 120
_SOFT = (
    "Unsupported", "UserError", "SkipFrame", "SkipCodeRecursiveException", "RestartAnalysis",
    "SpeculationRestartAnalysis",
)  # fmt: skip


def patch_convert_frame(module, recorder):
    """Record what Dynamo swallows; mark what it raises as raised while compiling."""
    local = threading.local()

    def watch_inner(call):
        @functools.wraps(call)
        def inner_call(*args, **kwargs):
            try:
                return call(*args, **kwargs)
            except (Exception, SystemExit) as error:
                recorder.mark(error, phase="compile")
                getattr(local, "pending", []).append(error)
                raise

        return inner_call

    def watch_outer(call):
        @functools.wraps(call)
        def outer_call(*args, **kwargs):
            around, local.pending = getattr(local, "pending", []), []
            try:
                result = call(*args, **kwargs)  # an error that is raised on reaches the call's own boundary
                for error in local.pending:
                    if not any(kind.__name__ in _SOFT for kind in type(error).__mro__):
                        recorder.raised(error, "compile", swallowed=True)
                return result
            finally:
                local.pending = around

        return outer_call

    compat.watch_frames(module, watch_inner, watch_outer)
    for function in recorder.passed_over:
        compat.pass_over(function)


def patch_output_graph(module, recorder):
    """See every Dynamo graph on its way to the backend, and watch what the backend returns."""
    original = module.OutputGraph.call_user_compiler

    @functools.wraps(original)
    def call_user_compiler(self, gm, *args, **kwargs):
        _force(self, recorder)
        example_inputs = args[0] if args else kwargs.get("example_inputs") or self.example_inputs()  # 2.1 passes none
        number = recorder.graphs
        recorder.graphs += 1
        graph_id = compat.compile_id()
        recorder.breadcrumb("compile graph %s" % graph_id)
        recorder.operators()
        kept = recorder.comparer.keep(gm, graph_id) if recorder.comparer is not None else None
        backend = {"backend": _backend_name(self), "own_backend": recorder.own_backend()}
        name = _capture(recorder, gm, example_inputs, "dynamo", graph_id, number, backend)
        placeholders = later.placeholders_of(gm) if name is not None else []
        try:
            left = graph_id in recorder.config.get("uncompiled_graphs", ())
            compiled = gm.forward if left else original(self, gm, *args, **kwargs)
        except (Exception, SystemExit) as error:
            recorder.mark(error, graph=name or graph_id, phase="compile")
            _mark_inner(recorder, error, name or graph_id)
            if not _begins_again(error):
                recorder.channel.say("graph_failed", graph=graph_id, file=name, when="compile")
            raise
        recorder.breadcrumb("graph %s compiled" % graph_id)
        if kept is not None and (_is_plain(compiled) or _is_module(compiled)):
            compiled = recorder.comparer.watch(compiled, kept, graph_id, example_inputs, backend)
        if recorder.config.get("explain"):
            return compiled  # what is timed has nothing around it
        return _watch_graph(compiled, recorder, graph_id, name, placeholders)

    module.OutputGraph.call_user_compiler = call_user_compiler


def _force(output_graph, recorder):
    """The backend of the rung, where the program had called torch.compile before there was one (`warm/standby.py`)."""
    if recorder.forced and not recorder.comparing():
        backend = compat.registered_backend(recorder.config["rung"])
        if backend is not None:
            output_graph.compiler_fn = backend


def patch_compile_fx(module, recorder):
    """Give compile_fx an inner_compile that writes down the ATen graphs. Only where capture is asked for."""
    if not recorder.config.get("capture"):
        return
    original = module.compile_fx
    position = list(inspect.signature(original).parameters).index("inner_compile")

    @functools.wraps(original)
    def compile_fx(*args, **kwargs):
        if len(args) > position:
            return original(*args, **kwargs)
        inner = kwargs.get("inner_compile") or module.compile_fx_inner
        if not getattr(_unwrapped(inner), "_triage_seen", False):
            kwargs["inner_compile"] = _seeing(inner, recorder)
        return original(*args, **kwargs)

    module.compile_fx = compile_fx


def _unwrapped(function):
    while True:
        deeper = getattr(function, "func", None) or getattr(function, "__wrapped__", None)
        if deeper is None or getattr(function, "_triage_seen", False):
            return function
        function = deeper


def _seeing(inner, recorder):
    @functools.wraps(inner)
    def inner_compile(gm, example_inputs, *args, **kwargs):
        backward = bool(kwargs.get("is_backward"))
        graph_id = compat.compile_id()
        recorder.breadcrumb("inductor compiles %s graph %s" % ("backward" if backward else "forward", graph_id))
        number = recorder.graphs
        recorder.graphs += 1
        direction = "backward" if backward else "forward"
        name = _capture(recorder, gm, example_inputs, "aten", graph_id, number, {"backend": "inductor"}, direction)
        try:
            return inner(gm, example_inputs, *args, **kwargs)
        except (Exception, SystemExit) as error:
            recorder.mark(error, aten_graph=name, direction=direction)
            if not _begins_again(error):
                recorder.channel.say("graph_failed", graph=graph_id, file=name, when="compile", direction=direction)
            raise

    inner_compile._triage_seen = True
    return inner_compile


def _capture(recorder, gm, example_inputs, level, graph_id, number, backend, direction="forward"):
    """Write the graph as data beside the events; returns the file's name. A graph that cannot be told is only missing."""
    if not recorder.config.get("capture") or number >= GRAPH_LIMIT:
        return None
    try:
        from ..capture import describe

        case = describe.graph_case(
            gm, example_inputs, level=level, graph_id=graph_id, direction=direction,
            context=dict(describe.current_context(), **recorder.compile_settings()),
            record_values=bool(recorder.config.get("record_values")), **backend,
        )  # fmt: skip
        name = recorder.channel.put("graph-%03d-%s.json" % (number, level), json.dumps(case))
        recorder.channel.say("graph", file=name, graph=graph_id, level=level, direction=direction)
        return name
    except Exception as error:
        recorder.channel.say(
            "graph_missing", graph=graph_id, level=level, reason="%s: %s" % (type(error).__name__, error)
        )
        return None


def _watch_graph(compiled, recorder, graph_id, name, placeholders):
    """Breadcrumbs round the first run of a compiled graph; what ends any run, an exception or a crash, is laid to the graph.

    It was described by its first call. Another one that fails may need its own values: they are put there when it has raised,
    and beforehand in the call of which it is known that the process will die in it (`values_of_call`).
    """
    if not _is_plain(compiled):
        return compiled
    calls, told, note = 0, [], note_of(graph_id, name)
    deadly = recorder.config.get("values_of_call")

    def run(*args, **kwargs):
        nonlocal calls
        calls += 1
        first = calls == 1
        if first:
            recorder.breadcrumb("run graph %s" % graph_id)
        if deadly and deadly == [graph_id, calls]:
            _describe_again(recorder, name, placeholders, args)
        before = recorder.running.enter(note, calls)
        try:
            result = compiled(*args, **kwargs)
        except (Exception, SystemExit) as error:
            recorder.mark(error, graph=name or graph_id, phase="call")
            lost = gpu.is_lost()  # then its values cannot be read any more: the next run does so beforehand
            if not first and not told and not lost:
                told.append(True)
                _describe_again(recorder, name, placeholders, args)
            died = {"died_in_call": calls} if lost else {}
            recorder.channel.say("graph_failed", graph=graph_id, file=name, when="run", **died)
            raise
        finally:
            recorder.running.leave(before)
        if first:
            recorder.breadcrumb("graph %s ran" % graph_id)
        return result

    try:
        return functools.wraps(compiled)(run)
    except Exception:
        return run


def _describe_again(recorder, name, placeholders, given):
    """The graph with the values of the call that failed; with those of its first call it may pass."""
    if name is None:
        return
    try:
        later.describe_again(recorder.channel, name, placeholders, given)
    except Exception:  # it stays as it was described
        return


def _is_plain(compiled):
    """Whether it is no more than a function: objects with a meaning of their own to Dynamo are left alone."""
    return inspect.isroutine(compiled) or isinstance(compiled, functools.partial)


def _is_module(compiled):
    """Whether a backend gave a module: the graph it was given, changed or not."""
    return isinstance(compiled, sys.modules["torch"].nn.Module)


def _begins_again(error):
    """Whether Dynamo only traces the same code once more, knowing better: nothing failed."""
    return any(kind.__name__ == "RestartAnalysis" for kind in type(error).__mro__)


def _mark_inner(recorder, error, graph):
    inner = getattr(error, "inner_exception", None)
    if isinstance(inner, BaseException):
        recorder.mark(inner, graph=graph)


def _backend_name(output_graph):
    function = getattr(output_graph, "compiler_fn", None)
    for _ in range(6):
        name = getattr(function, "compiler_name", None)
        if isinstance(name, str):
            return name
        deeper = getattr(function, "_torchdynamo_orig_callable", None) or getattr(function, "compiler_fn", None)
        if deeper is None or deeper is function:
            break
        function = deeper
    return getattr(function, "__name__", type(function).__name__)
