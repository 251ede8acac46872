"""Which operators are custom ones: not there after `import torch`."""

from .. import compat

_TORCHS = """
    _c10d_functional _c10d_functional_autograd _dtensor _inductor_debug _inductor_test _native _native_aot _quantized
    _test _torch_testing ao aten bucketing bundled c10d c10d_functional coor cplib debug_mode_ops debugprims device_mesh
    export flex_gemm flex_lib fsdp higher_order inductor inductor_prims mempool mkl mkldnn mkldnn_prepacked onednn onnx
    onnx_symbolic prepacked prim prims profiler quantization quantized quantized_decomposed rngprims semi_structured
    sparse static_runtime streams symm_mem torch_attn tr_c10d
"""


def is_torchs(name):
    """Whether an operator (`ns::name`) is torch's own: by its namespace, or, in a newer release, by where it is defined."""
    return name.split("::")[0] in _TORCHS.split() or compat.defined_by_torch(name)


def known():
    """Names `ns::name` of the custom operators that the program has asked for so far."""
    return [name for name in compat.known_operators() if not is_torchs(name)]
