"""Faults planted below the scripts that are reduced: a compiler that is wrong about chosen operations.

With this folder on PYTHONPATH, torch loads it at the end of `import torch` (entry-point group `torch.backends`), in the
script as in each candidate and in the final reproducer; nothing in their texts says so. It takes the place of the function
that the backends aot_eager and aot_eager_decomp_partition hand their ATen graphs to. `PLANTED_FAULTS` names a file with
the faults, read at each compile (see `Fault`); where `PLANTED_TRACE` names another, it is told there which faults fired
and how the graph's outputs differ from healthy ones. It shares no code with the reducers it is to judge.
"""

import importlib.abc
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path

HOST = "torch._dynamo.backends.debugging"
FAULTS, TRACE = "PLANTED_FAULTS", "PLANTED_TRACE"
FEW, SMALL = 3, 4  # operations of a graph, elements of a tensor


def install():
    """Called by `import torch`; the host is imported much later."""
    if HOST in sys.modules:
        _replace(sys.modules[HOST])
    else:
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != HOST:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _replace(module)

        spec.loader.exec_module = exec_module
        return spec


def _replace(host):
    healthy = host.boxed_nop

    def boxed_nop(gm, example_inputs):
        faults = read_faults()
        return planted(gm, faults) if faults else healthy(gm, example_inputs)

    host.boxed_nop = boxed_nop


def read_faults():
    """The faults as dictionaries: name, op (an ATen name without overload), kind, when, words; in the order they apply."""
    path = os.environ.get(FAULTS)
    return json.loads(Path(path).read_text(encoding="utf-8")) if path and Path(path).is_file() else []


def planted(gm, faults):
    """What a backend returns: the graph as a function of one list."""
    tell({"operations": [operation(node.target) for node in gm.graph.nodes if node.op == "call_function"]})

    def run(args):
        healthy = outputs_of(gm, [], [_copy(each) for each in args]) if os.environ.get(TRACE) else None
        found = outputs_of(gm, faults, args)
        if healthy is not None:
            tell({"graph": [difference(one, other) for one, other in zip(healthy, found, strict=True)]})
        return found

    run._boxed_call = True
    return run


def outputs_of(gm, faults, args):
    """Interpret the graph; each operation's result passes by the faults."""
    import torch

    class Planted(torch.fx.Interpreter):
        def run_node(self, node):
            result = super().run_node(node)
            fault = applying(faults, node, result)
            return result if fault is None else fire(fault, result)

    return Planted(gm).run(*args, enable_io_processing=False)


def applying(faults, node, result):
    """The first fault of this operation whose condition holds."""
    if node.op != "call_function" or not hasattr(result, "dtype"):
        return None
    name = operation(node.target)
    return next((fault for fault in faults if fault["op"] == name and CONDITIONS[fault["when"]](node, result)), None)


def operation(target):
    """`sin` of torch.ops.aten.sin.default."""
    packet = getattr(target, "overloadpacket", None)
    return getattr(packet or target, "__name__", "")


def _fed(node, result):
    return any(each.op == "placeholder" for each in node.all_input_nodes)


def _last(node, result):
    return any(user.op == "output" for user in node.users)


def _alone(node, result):
    return sum(each.op == "call_function" for each in node.graph.nodes) <= FEW


# When a fault shows: real ones, too, depend on what stands beside an operation, on sizes and on dtypes.
CONDITIONS = {
    "always": lambda node, result: True,
    "fed": _fed,  # an input of the graph goes straight in
    "last": _last,
    "alone": _alone,
    "small": lambda node, result: result.numel() <= SMALL,
    "single": lambda node, result: str(result.dtype) == "torch.float32",
}


def fire(fault, result):
    """What the faulty operation gives, or how it ends."""
    tell({"fired": fault["name"]})
    kind = fault["kind"]
    if kind == "exception":
        raise RuntimeError(fault["words"])
    if kind == "abort":
        os.abort()
    if kind == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    return CHANGES[kind](result)


def _values(result):
    return ~result if str(result.dtype) == "torch.bool" else result * -3 + 7


def _first(number):
    """Its first element is this one, if it may be."""

    def change(result):
        result = result.clone()
        if (result.is_floating_point() or result.is_complex()) and result.numel():
            result[(0,) * result.dim()] = float(number)
        return result

    return change


def _dtype(result):
    import torch

    if result.is_complex():
        return result.to(torch.complex64 if result.dtype == torch.complex128 else torch.complex128)
    return result.to(torch.float32 if result.dtype == torch.float64 else torch.float64)


def _shape(result):
    return result.unsqueeze(0)


def _strides(result):
    """The same elements, with a gap behind each."""
    wide = result.new_empty((*result.shape, 2))
    wide[..., 0] = result
    return wide[..., 0]


CHANGES = {
    "values": _values,
    "nan": _first("nan"),
    "inf": _first("inf"),
    "dtype": _dtype,
    "shape": _shape,
    "strides": _strides,
}


def difference(healthy, found):
    """How an output differs: dtype, shape, strides, nan, values, or nothing."""
    import torch

    if not hasattr(healthy, "dtype"):
        return ""
    if healthy.dtype != found.dtype:
        return "dtype"
    if healthy.shape != found.shape:
        return "shape"
    if not torch.equal(healthy.isnan(), found.isnan()):
        return "nan"
    if not torch.allclose(healthy.double(), found.double(), equal_nan=True):
        return "values"
    return "strides" if healthy.numel() > 1 and healthy.stride() != found.stride() else ""


def tell(fact):
    """One line of the trace, written before whatever comes next."""
    path = os.environ.get(TRACE)
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(fact) + "\n")


def _copy(value):
    return value.clone() if hasattr(value, "clone") else value
