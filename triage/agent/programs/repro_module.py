"""A script of PyTorch's minifier as plain data: `python boot.py programs.repro_module CHECKPOINT.py OUT.json OPTIONS`.

The script's source is executed without its main part; its module is traced on the inputs that it describes, and written as
`{"case": ...}` (the dictionary of a GraphCase), or as `{"error": type and message, "step": ...}`. OPTIONS is a JSON object:
`backend`, `direction`, `record_values`.
"""

import ast
import functools
import inspect
import json
import operator
import os

from .. import compat

THE_MINIFIERS_OWN = "torch._inductor.config.generate_intermediate_hooks "
AFTER_DYNAMO = "torch._dynamo.repro.after_dynamo"


def main(arguments):
    """Write OUT.json; the exit status is 0 also where the script could not be described."""
    checkpoint, out = arguments[0], arguments[1]
    options = json.loads(arguments[2]) if len(arguments) > 2 else {}
    step = ["load"]
    try:
        answer = {"case": _case(checkpoint, options, step)}
    except Exception as error:
        answer = {"error": "%s: %s" % (type(error).__name__, error), "step": step[0]}
    with open(out + ".part", "w", encoding="utf-8", errors="replace") as file:
        json.dump(answer, file)
    os.replace(out + ".part", out)
    return 0


def _case(checkpoint, options, step):
    import torch

    from ..capture import describe

    with open(checkpoint, encoding="utf-8") as file:
        source = file.read()
    namespace = {"__name__": "_triage_checkpoint", "__file__": checkpoint}
    exec(compile(source, checkpoint, "exec"), namespace)
    told = told_to_main(source)
    step[0] = "inputs"
    inputs = functools.partial(_inputs, namespace["load_args"], told.get("save_dir"))
    inputs()
    step[0] = "trace"
    level, gm = _traced(namespace["mod"], inputs, source, told)
    step[0] = "describe"
    context = describe.current_context()
    context["config"] = [line for line in context["config"] if not line.startswith(THE_MINIFIERS_OWN)]
    if told.get("autocast") is True:
        context["autocast"] = ["cuda" if torch.cuda.is_available() else "cpu"]
    values = inputs()
    if any(type(value) is int for value in values) and level == "dynamo":
        context["dynamic"] = True
    return describe.graph_case(
        gm, values, level=level, direction=options.get("direction") or "forward",
        backend=options.get("backend") or "inductor", context=context, real_inputs=values,
        record_values=bool(options.get("record_values")),
    )  # fmt: skip


def told_to_main(source):
    """The keyword arguments that the script's main part gives to `run_repro`: save_dir, tracing_mode, autocast, ..."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "run_repro":
            for keyword in node.keywords:
                try:
                    found[keyword.arg] = ast.literal_eval(keyword.value)
                except ValueError:  # not a literal: torch never writes one
                    pass
    return found


def _inputs(load_args, save_dir):
    reader = compat.repro_input_reader()
    if not reader:
        raise RuntimeError(reader.reason)
    made = reader(save_dir=save_dir)
    load_args(made)
    return list(made.args)


def _traced(module, inputs, source, told):
    """(level, graph module with the recorded values of its nodes). A Dynamo graph keeps its torch.* calls if it can."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    if AFTER_DYNAMO in source:
        try:
            graph = _tracer().trace(module)
            gm = torch.fx.GraphModule(module, graph)
            _record(gm, inputs())
            return "dynamo", gm
        except Exception:  # it changes a proxy in place, or asks for a value: what is left is the ATen graph
            pass
    with torch.no_grad():
        return "aten", make_fx(module, tracing_mode=told.get("tracing_mode") or "real")(*inputs())


def _tracer():
    """A symbolic tracer that also records calls without a tensor among their arguments: factories, mode switches."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Recorded(torch.fx.Proxy):
        def __setitem__(self, key, value):
            self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})

    class Everything(TorchFunctionMode):
        def __init__(self, tracer):
            super().__init__()
            self.tracer = tracer

        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = _without_defaults(function, kwargs or {})
            if _holds_proxy(args) or _holds_proxy(kwargs):
                return function(*args, **kwargs)  # the proxy records it, as a method or as a function
            return self.tracer.create_proxy("call_function", function, args, kwargs)

    class Tracer(torch.fx.Tracer):
        def proxy(self, node):
            return Recorded(node, self)

        def trace(self, root, concrete_args=None):
            with Everything(self):
                return super().trace(root, concrete_args)

    return Tracer()


def _without_defaults(function, kwargs):
    """A function of torch that hands itself on to a mode spells out all its defaults (softmax: `_stacklevel=3`)."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return kwargs
    return {
        name: value for name, value in kwargs.items() if not (name in parameters and parameters[name].default is value)
    }


def _holds_proxy(value):
    import torch

    if isinstance(value, dict):
        return any(_holds_proxy(item) for item in value.values())
    if isinstance(value, (tuple, list)):
        return any(_holds_proxy(item) for item in value)
    if isinstance(value, slice):
        return _holds_proxy((value.start, value.stop, value.step))
    return isinstance(value, torch.fx.Proxy)


def _record(gm, values):
    """Run the graph once and keep each node's value where Dynamo would have recorded it."""
    import torch

    class Recording(torch.fx.Interpreter):
        def run_node(self, node):
            result = super().run_node(node)
            node.meta["example_value"] = result
            return result

    enabled = torch.is_grad_enabled()
    try:
        Recording(gm, garbage_collect_values=False).run(*values)
    except Exception:  # shapes are a help, not a need
        pass
    finally:
        torch.set_grad_enabled(enabled)  # the graph may switch it
