"""Inductor: the phases of a compile, its parts, its C++ builds and its caches."""

import importlib
import os
import sys

from .feature import Feature, Missing


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


def compiler_parts():
    """What applies parts of the compiler, by name; a Missing where this torch has no such class.

    `bisector` (2.6) is asked before each pass of a graph, each lowering and each decomposition, as far as it has `subsystems`
    of these names (`pre_grad_passes` after 2.7); `observer` wraps the passes.
    """
    inductor = "torch._inductor."
    return Feature(
        bisector=_named(inductor + "compiler_bisector", "CompilerBisector"),
        subsystems=_subsystems(_named(inductor + "compiler_bisector", "BACKENDS")),
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


def _subsystems(backends):
    """Names of what the bisector can be asked about; without the settings that it has in the same table."""
    try:
        return [part.name for parts in backends.values() for part in parts if not hasattr(part, "config_name")]
    except AttributeError:  # no bisector, or one with another table
        return []


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


def workers_when_asked(accelerated):
    """What to run after which import, so that importing Inductor begins no compile workers: torch 2.6 to 2.8 do where Triton is.

    Only kernels of a GPU are built there, and the workers begin when they are first asked. Later releases do so by themselves.
    `accelerated` tells whether there may be one. Nothing of the program is run while the variable is set.
    """
    name = "TORCH_WARM_POOL"
    before = []

    def hold(module):
        if not accelerated():
            before.append(os.environ.get(name))
            os.environ[name] = "0"

    def release(module):
        for value in before:
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    return {"torch._inductor.compile_worker.subproc_pool": hold, "torch._inductor.async_compile": release}


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


def extension_builder(cpp_extension):
    """The name of the function that runs ninja in the directory it is given first."""
    name = "_run_ninja_build"
    return name if callable(getattr(cpp_extension, name, None)) else Missing("extensions are built otherwise")
