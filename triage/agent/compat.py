"""Everything that touches private parts of torch: a function returns the feature, or `Missing(reason)`.

The rest of the agent asks here and never by `getattr` of its own, so what a torch release moves is found in one place.
"""

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


def clear_counters():
    """Forget how many graphs were compiled so far in this process."""
    try:
        sys.modules["torch._dynamo.utils"].counters.clear()
    except (KeyError, AttributeError):
        return


def vec_isa_probe():
    """The class whose `check_build` finds out, with a compiler run, which vector instructions can be used (2.5 and newer)."""
    try:
        from torch._inductor.cpu_vec_isa import VecISA
    except Exception as error:
        return Missing(str(error))
    if not hasattr(VecISA, "check_build"):
        return Missing("VecISA.check_build is not there")
    return VecISA


def header_precompiler():
    """The module whose `_precompile_header(header, command_line, **options)` gives the path of a header (2.8 and newer)."""
    try:
        from torch._inductor import codecache
    except Exception as error:
        return Missing(str(error))
    if not hasattr(codecache, "_precompile_header"):
        return Missing("headers are not precompiled")
    return codecache


def built_for_accelerator(torch):
    """Whether this torch can talk to a GPU: then nothing may run in the warm interpreter but imports."""
    version = torch.version
    return any(getattr(version, name, None) for name in ("cuda", "hip", "xpu"))


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
