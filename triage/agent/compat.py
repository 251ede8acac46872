"""Everything that touches private parts of torch: a function returns the feature, or `Missing(reason)`.

The rest of the agent asks here and never by `getattr` of its own, so what a torch release moves is found in one place.
"""

import importlib
import os
import sys


class Missing(object):
    """A feature that this torch does not have. False in a condition."""

    def __init__(self, reason):
        self.reason = reason

    def __bool__(self):
        return False

    def __repr__(self):
        return "Missing(%r)" % self.reason


class Feature(object):
    """Some parts of torch that belong together, by name."""

    def __init__(self, **parts):
        self.__dict__.update(parts)


def loaded(name):
    """A module that has been imported already, or None."""
    return sys.modules.get(name)


def imported_when_named():
    """Names of the parts of torch that are imported when they are looked up in it (since 2.1; `torch.__getattr__`)."""
    return {"torch.%s" % name for name in getattr(sys.modules.get("torch"), "_lazy_modules", ())}


def compile_id():
    """Dynamo's own name of the graph that is being compiled, `frame/recompile`, e.g. 0/1."""
    try:
        found = sys.modules["torch._guards"].CompileContext.current_compile_id()
        return str(found).strip("[]") if found is not None else "?"
    except Exception:
        return "?"


def inductor_phases():
    """The points between the phases of an Inductor compile.

    `inner_name` is the function of `compile_fx` that compiles one ATen graph and is looked up at each call: `_compile_fx_inner`
    (2.6 and newer), whose result may be any function that takes a list, else `fx_codegen_and_compile`, whose may not.
    """
    try:
        from torch._inductor import compile_fx
        from torch._inductor.graph import GraphLowering
        from torch._inductor.scheduler import Scheduler
        from torch._inductor.virtualized import V
    except Exception as error:
        return Missing("Inductor cannot be imported: %s" % error)
    names = [name for name in ("_compile_fx_inner", "fx_codegen_and_compile") if hasattr(compile_fx, name)]
    if not names or not hasattr(GraphLowering, "compile_to_module"):
        return Missing("this Inductor is built of other functions")
    return Feature(
        compile_fx=compile_fx,
        inner_name=names[0],
        result_may_be_function=names[0] == "_compile_fx_inner",
        graph_lowering=GraphLowering,
        scheduler=Scheduler,
        virtualized=V,
    )


def report_output_strides(lowering):
    """Tell AOTAutograd the strides Inductor chose for the outputs of a graph, as a finished compile would do.

    The backward graph is compiled for saved tensors of these strides (torch/_inductor/utils.py,
    set_tracing_context_output_strides). Graphs with symbolic strides are left alone.
    """
    try:
        context = sys.modules["torch._guards"].TracingContext.try_get()
        if context is None or context.output_strides is None or context.output_strides:
            return
        found = []
        for out in lowering.graph_outputs:
            try:
                found.append(tuple(int(stride) for stride in out.get_stride()))
            except (AttributeError, NotImplementedError):
                found.append(None)
        context.output_strides.extend(found)
    except Exception:
        return


def copy_graph(gm):
    """A GraphModule with the same parameters and a graph of its own."""
    import copy

    from torch.fx import GraphModule

    return GraphModule(gm, copy.deepcopy(gm.graph))


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


def vec_isa_probe():
    """The method (`owner`, `name`) that finds out, with a compiler run, whether some vector instructions can be used."""
    for module, name in (("torch._inductor.cpu_vec_isa", "check_build"), ("torch._inductor.codecache", "__bool__")):
        owner = getattr(sys.modules.get(module), "VecISA", None)  # the former since 2.5
        if owner is not None and name in owner.__dict__:
            return Feature(owner=owner, name=name)
    return Missing("VecISA is not there")


def header_precompiler():
    """The module whose `_precompile_header(header, command_line, **options)` gives the path of a header (2.8 and newer)."""
    try:
        from torch._inductor import codecache
    except Exception as error:
        return Missing(str(error))
    if not hasattr(codecache, "_precompile_header"):
        return Missing("headers are not precompiled")
    return codecache


def keep_headers_in(codecache, directory):
    """Have headers precompiled into this directory (`_HEADER_DIR`, 2.8 and newer), not into the user's temporary one."""
    if hasattr(codecache, "_HEADER_DIR"):
        codecache._HEADER_DIR = directory
        codecache._HEADER_LOCK_DIR = os.path.join(directory, "locks")


def kernel_builder():
    """The class whose `build()` has a C++ library built at `get_target_file_path()` (2.5 and newer)."""
    builder = getattr(sys.modules.get("torch._inductor.cpp_builder"), "CppBuilder", None)
    if builder is None or not hasattr(builder, "build") or not hasattr(builder, "get_target_file_path"):
        return Missing("CppBuilder is not there")
    return builder


def may_use_accelerator(torch):
    """Whether this torch can find a GPU here: then nothing may run in the warm interpreter but imports."""
    version = torch.version
    built = any(getattr(version, name, None) for name in ("cuda", "hip", "xpu"))
    devices = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg", "/dev/dri")
    return built and any(os.path.exists(path) for path in devices)


def custom_op_definition(qualified):
    """The object `torch.library.custom_op` made for an operator `ns::name` (2.4 and newer), None where there is none."""
    try:
        return sys.modules["torch._library.custom_ops"].OPDEFS.get(qualified)
    except Exception:
        return None


def dispatcher_text(qualified):
    """What the dispatcher knows of an operator, with the files its kernels were registered in; empty where unknown."""
    try:
        return sys.modules["torch"]._C._dispatch_dump(qualified)
    except Exception:
        return ""


def registered_at(qualified):
    """`file:line` of what registered an operator `ns::name`, None where that is not known."""
    import re

    code = getattr(getattr(custom_op_definition(qualified), "_init_fn", None), "__code__", None)
    if code is not None:
        return "%s:%d" % (code.co_filename, code.co_firstlineno)
    sites = re.findall(r"registered at (\S.*?:\d+)(?= ::|$)", dispatcher_text(qualified), re.M)
    home = os.path.dirname(sys.modules["torch"].__file__) + os.sep
    return next((site for site in sites if site[0] == "/" and not site.startswith((home, "/dev/null"))), None)


def known_operators():
    """Names `ns::name` of the operators that were asked for through `torch.ops` so far."""
    found = []
    try:
        for space, names in list(vars(sys.modules["torch"].ops).items()):
            found += ["%s::%s" % (space, name) for name in getattr(names, "_dir", ())]
    except Exception:
        return []
    return found


def registered_backend(name):
    """The function that torch.compile takes for a backend's name, loaded as torch.compile loads it; None where there is none."""
    try:
        from torch._dynamo.backends.registry import lookup_backend

        return lookup_backend(name)
    except Exception:
        return None


def opcheck():
    """`torch.library.opcheck` (2.4 and newer)."""
    check = getattr(sys.modules["torch"].library, "opcheck", None)
    return check if check is not None else Missing("this torch has no torch.library.opcheck")


def flattened(tree):
    """(leaves of nested tuples, lists and dictionaries, the function that puts others in their places)."""
    from torch.utils._pytree import tree_flatten, tree_unflatten

    flat, spec = tree_flatten(tree)
    return flat, lambda leaves: tree_unflatten(leaves, spec)


def fake_results(operator, args, kwargs):
    """What the fake kernel of an operator gives, as a list of leaves."""
    from torch._subclasses import FakeTensorMode

    mode = FakeTensorMode()
    flat, put_back = flattened((args, kwargs))
    tensor = sys.modules["torch"].Tensor
    args, kwargs = put_back([mode.from_tensor(item) if isinstance(item, tensor) else item for item in flat])
    with mode:
        return flattened(operator(*args, **kwargs))[0]


def loaded_libraries():
    """Paths of the shared libraries that `torch.ops.load_library` loaded."""
    try:
        return sorted(sys.modules["torch"].ops.loaded_libraries)
    except Exception:
        return []


def default_setting(config, key):
    """What a setting of a torch config module is by default, e.g. key `triton.cudagraphs`."""
    try:
        entry = config._config[key]
        if hasattr(entry, "default"):
            return entry.default
        return config._default[key]  # before 2.6
    except Exception:
        return Missing("%s has no default on record" % key)


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


def file_writer(torch):
    """The class (`owner`, `name`) with which torch.save opens its file, given a path or a stream."""
    if hasattr(getattr(torch, "_C", None), "PyTorchFileWriter"):
        return Feature(owner=torch._C, name="PyTorchFileWriter")
    return Missing("torch._C.PyTorchFileWriter is not there")


def tracing_modes_off():
    """A context manager that leaves all dispatch modes (fake, functional, proxy) for a while."""
    import contextlib

    try:
        from torch.utils._python_dispatch import _disable_current_modes
    except ImportError:
        return contextlib.nullcontext()
    return _disable_current_modes()


def is_functional(tensor):
    """Whether a tensor is the wrapper of functionalization, which has no values to read."""
    try:
        return sys.modules["torch"]._is_functional_tensor(tensor)
    except Exception:
        return False


def left_undone(tensor):
    """What a tensor's elements still wait for: conj, neg, zero (it has no storage: a gradient known to be 0), or nothing."""
    for name, question in (("zero", "_is_zerotensor"), ("conj", "is_conj"), ("neg", "is_neg")):
        try:
            if getattr(tensor, question)():
                return name
        except Exception:  # a layout or a subclass that cannot be asked
            continue
    return ""


def base_of(tensor):
    """The tensor that autograd has this one be a view of; None where it is none."""
    try:
        return tensor._base if tensor._is_view() else None
    except Exception:  # a subclass that cannot be asked
        return None


def operator_types():
    """The types of `torch.ops.ns.name` and `torch.ops.ns.name.overload`."""
    ops = sys.modules["torch"]._ops
    return tuple(getattr(ops, name) for name in ("OpOverload", "OpOverloadPacket") if hasattr(ops, name))


def dispatch_mode():
    """The base class of modes that see every ATen operation."""
    from torch.utils._python_dispatch import TorchDispatchMode

    return TorchDispatchMode


def home_of_torch():
    """The directory below which torch's own files lie, as the beginning of their names."""
    return os.path.dirname(os.path.abspath(sys.modules["torch"].__file__)) + os.sep


def autocast_off():
    """A context in which operations keep the precision of their operands, on every device that casts by itself."""
    import contextlib

    torch = sys.modules["torch"]
    stack = contextlib.ExitStack()
    for device in ("cpu", "cuda"):
        try:
            stack.enter_context(torch.autocast(device, enabled=False))
        except Exception:  # a torch built without it
            continue
    return stack


def autocast_as_now():
    """A function that gives a context in which operations are cast as they are now. What is cast inside is not kept: a cast
    weight, and with it the weight, would stay in memory until the program leaves its own autocast.
    """
    import contextlib

    torch = sys.modules["torch"]
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    found = [(device, *autocast_of(device)) for device in devices]

    def again():
        stack = contextlib.ExitStack()
        for device, enabled, dtype in found:
            stack.enter_context(torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=False))
        return stack

    return again


def autocast_is_on():
    """Whether operations are cast by themselves now, on any device."""
    return any(autocast_of(device)[0] for device in ("cpu", "cuda"))


class NothingLeftEntered(object):
    """A context that leaves what a graph entered and, since it raised, never left: autocast and the levels of torch.func.

    A program one level too deep in autocast keeps what it cast for good, and computes with weights of an earlier step.
    """

    def __enter__(self):
        self.casts, self.levels = _autocast_depth(), _functorch_depth()

    def __exit__(self, *facts):
        torch = sys.modules["torch"]
        if self.levels is not None and _functorch_depth() > self.levels:
            torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(self.levels)
        while _autocast_depth() > self.casts:
            if torch.autocast_decrement_nesting() == 0:
                torch.clear_autocast_cache()


def _autocast_depth():
    torch = sys.modules["torch"]
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def _functorch_depth():
    """None where this torch cannot be asked (before 2.2)."""
    ask = getattr(sys.modules["torch"]._C._functorch, "get_dynamic_layer_stack_depth", None)
    return ask() if ask is not None else None


def autocast_of(device):
    """(whether operations on this device are cast by themselves now, the dtype they are cast to)."""
    torch = sys.modules["torch"]
    try:
        return torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    except (TypeError, AttributeError):  # torch before 2.4 asks without a device
        if device == "cpu":
            return torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype()
        return torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype()


def copy_graph_deeply(gm):
    """As `copy_graph`, with the graphs of nested functions copied too: a backend may rewrite them in place."""
    copied = copy_graph(gm)
    for name, child in list(copied.named_children()):
        if type(child).__name__ == type(copied).__name__ or hasattr(child, "graph"):
            setattr(copied, name, copy_graph_deeply(child))
    return copied


def compiler_parts():
    """What applies parts of the compiler, by name; a Missing where this torch has no such class.

    `bisector` (2.6) is asked before each pass of a graph, each lowering and each decomposition; `observer` wraps the passes.
    """
    inductor = "torch._inductor."
    return Feature(
        bisector=_named(inductor + "compiler_bisector", "CompilerBisector"),
        observer=_named("torch.fx.passes.graph_transform_observer", "GraphTransformObserver"),
        scheduler=_named(inductor + "scheduler", "Scheduler"),
        patterns=[
            _named(inductor + "pattern_matcher", name)
            for name in ("LoweringPatternEntry", "GraphPatternEntry", "ReplacementPatternEntry")
        ],
        tiling=_named(inductor + "codegen.cpp", "TilingSelect"),  # 2.6
        kernels=_named(inductor + "codegen.cpp", "CppKernelProxy"),
        operators=_named("torch._ops", "OpOverload"),
        decomposed=_named("torch._decomp", "decomposition_table") or (),
    )


def _named(module, name):
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:
        return Missing(str(error))


def without_graph_caches():
    """From now on each compile does all of its work."""
    for module, name, value in (
        ("torch._inductor.config", "force_disable_caches", True),
        ("torch._inductor.config", "fx_graph_cache", False),
        ("torch._functorch.config", "enable_autograd_cache", False),
    ):
        try:
            config = importlib.import_module(module)
            getattr(config, name)
            setattr(config, name, value)
        except Exception:
            continue  # this torch has no such cache


_graph_break_ids = {}


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


def recompile_limit():
    """How many compiled versions of one function Dynamo keeps; None where this torch does not say."""
    config = sys.modules.get("torch._dynamo.config")
    for name in ("recompile_limit", "cache_size_limit"):  # the latter before 2.6
        try:
            return int(getattr(config, name))
        except Exception:
            continue
    return None


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
                "backend_seconds": getattr(each, "backend_compile_time_s", None),
                "inductor_seconds": getattr(each, "inductor_compile_time_s", None),
                "code_seconds": getattr(each, "code_gen_time_s", None),
                "us": getattr(each, "duration_us", None),
                "ops": getattr(each, "graph_op_count", None),
                "forward": getattr(each, "is_forward", None),
                "failed": getattr(each, "fail_type", None),
            }
            for each in (ask() if ask is not None else ())
        ]
    except Exception:
        return []
