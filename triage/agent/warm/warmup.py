"""What the warm interpreter does before its first fork: import everything a compile needs, and compile a little."""

import contextlib
import importlib
import os
import pkgutil
import platform
import sys
import threading
import time

from .. import compat
from ..hooks import imports, shared_cache
from . import modules, phases, proc, rehearsal

# Further phases ask the compiler which vector instructions work, and gain a candidate only 0.02 s.
WARM_PHASE = "lowering"
# Imported by compiles, some of them only when the first kernel is generated.
LATER = (
    "torch._dynamo",
    "torch._functorch.aot_autograd",
    "torch._inductor.compile_fx",
    "torch._inductor.async_compile",
    "torch._inductor.codegen.cpp",
    "torch._inductor.codegen.cpp_wrapper_cpu",
    "torch._inductor.codegen.wrapper",
    "torch._inductor.fx_passes.joint_graph",
    "torch._inductor.fx_passes.post_grad",
    "torch._inductor.fx_passes.pre_grad",
    "torch._inductor.select_algorithm",
    "torch.utils._filelock",
    "numpy",
)
# The same for kernels of a GPU, and what Inductor imports at its first compile, which there is none of beside a GPU. Importing
# them calls no driver (measured with torch 2.11 and Triton 3.6).
LATER_FOR_GPUS = (
    "torch.distributed.tensor.experimental._attention",
    "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.codegen.halide",
    "torch._inductor.codegen.pallas",
    "torch._inductor.codegen.triton",
    "torch._inductor.codegen.triton_combo_kernel",
    "torch._inductor.cudagraph_trees",
    "torch._inductor.fx_passes.fuse_attention",
    "torch._inductor.fx_passes.mkldnn_fusion",
    "torch._inductor.fx_passes.pad_mm",
    "torch._inductor.fx_passes.quantization",
    "torch._inductor.runtime.triton_heuristics",
    "triton.compiler.code_generator",
)
# Packages of patterns, a module each.
PATTERNS = "torch._inductor.fx_passes.serialized_patterns"
# What a cache's key begins with: hashes of all of torch's source and of all of Triton, 400 MB, that each process makes once.
HASHES = (("torch._inductor.codecache", "torch_key"), ("torch._inductor.runtime.triton_compat", "triton_key"))


def warm_up(shared, as_it_is=False):
    """Facts for the orchestrator. `refused` says why candidates cannot be forked here.

    What runs `as_it_is` has as many threads as the user's program would have.
    """
    if not hasattr(os, "fork") or sys.platform != "linux":
        return {"refused": "fork is not safe on %s" % sys.platform}
    began = time.monotonic()
    if not as_it_is:
        os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # Never the user's caches: a compile that is found there warms nothing up.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(shared, "cache")
    with imports.garbage_kept():
        with contextlib.suppress(ImportError):
            importlib.import_module("numpy")  # the threads of its OpenBLAS end before a fork, and begin anew after it
        threads = _threads_of_libraries()
        import torch

        modules.remember()
        for name in (*LATER, *(LATER_FOR_GPUS if compat.may_use_accelerator(torch) else ())):
            try:
                importlib.import_module(name)
            except Exception:  # another torch has other modules; what is missing is imported by the candidate
                continue
    neutral = shared_cache.share(shared)
    accelerated = compat.may_use_accelerator(torch)
    compiled = _beside_accelerator(torch, shared) if accelerated else _compile_a_little(torch)
    # What was compiled beside an accelerator was rehearsed, to a child that uses it.
    why = "" if accelerated and compiled else rehearsal.what_fails_in_a_child(torch)
    if why:
        return {"refused": "a forked child fails: %s" % why}
    if as_it_is and _threads_of_libraries() > threads:
        return {"refused": "it has several threads, of which a fork copies one"}
    proc.settle()
    return {
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "shared": neutral,
        "warm": compiled,
        "threads": _threads(),
        "seconds": time.monotonic() - began,
    }


def _beside_accelerator(torch, shared):
    """Whether a little was compiled: nothing that keeps a child from the GPU.

    No gradients, for which autograd starts a thread per device, and no Inductor, whose patterns are made of tensors there.
    """
    os.environ["TRITON_CACHE_DIR"] = os.path.join(shared, "triton")  # never the user's
    try:
        rehearsal.load_driver()
        _know_patterns_and_hashes()

        def warm():
            with rehearsal.left_alone(torch):
                return _compile_a_little(torch, "aot_eager", gradients=False)

        return not rehearsal.what_fails_in_a_child(torch, after=warm) and warm()
    finally:
        del os.environ["TRITON_CACHE_DIR"]


def _know_patterns_and_hashes():
    """What elsewhere the first little compile leaves behind."""
    with contextlib.suppress(Exception):  # another torch has others, and a Triton that is not there no hash
        for module in pkgutil.iter_modules(importlib.import_module(PATTERNS).__path__):
            importlib.import_module("%s.%s" % (PATTERNS, module.name))
    for module, name in HASHES:
        with contextlib.suppress(Exception):
            getattr(importlib.import_module(module), name)()


class _Silent(object):
    """Stands where a recorder would be."""

    @property
    def channel(self):
        return self

    def say(self, *args, **facts):
        return None

    breadcrumb = say


def _compile_a_little(torch, backend="inductor", gradients=True):
    """Fill the caches of this process (patterns, symbolic shapes, operator tables) without a compiler run."""
    generator, count = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(1)  # no fork copies the others
    try:
        if gradients:
            # Autograd counts its devices once: outside of a trace, where there are none.
            torch.ones(1, requires_grad=True).sum().backward()
        with phases.cut_off_after(WARM_PHASE, _Silent()):
            compiled = torch.compile(_sample, backend=backend)
            result = compiled(torch.ones(4, 4, requires_grad=gradients), torch.ones(4, 4))
            if gradients:
                result.backward()
        return True
    except phases.Passed:
        return True
    except Exception:
        return False
    finally:
        compat.forget_compiles()
        torch.set_rng_state(generator)
        torch.set_num_threads(count)


def _sample(x, w):
    return (x @ w).relu().sum()


def _threads_of_libraries():
    """Those that are not Python's own, such as a pool of OpenMP's."""
    return _threads() - threading.active_count()


def _threads():
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()
