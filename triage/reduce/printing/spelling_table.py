"""How recorded operators are written by people: plain data for `triage.reduce.printing.spelling`.

An ATen operator is only listed where the torch function dispatches to it again with the same arguments in the same order,
so that the graph captured from the printed script holds the operator that was recorded.
"""

from __future__ import annotations

from triage.model.text import words

# Python operators: (symbol, binding strength); a larger strength binds tighter.
BINARY: dict[str, tuple[str, int]] = {
    "or_": ("|", 4), "xor": ("^", 5), "and_": ("&", 6), "lshift": ("<<", 7), "rshift": (">>", 7),
    "add": ("+", 8), "sub": ("-", 8), "mul": ("*", 9), "truediv": ("/", 9), "floordiv": ("//", 9), "mod": ("%", 9),
    "matmul": ("@", 9), "pow": ("**", 11),
    "eq": ("==", 3), "ne": ("!=", 3), "lt": ("<", 3), "le": ("<=", 3), "gt": (">", 3), "ge": (">=", 3),
}  # fmt: skip
UNARY: dict[str, str] = {"neg": "-", "invert": "~", "pos": "+"}
IN_PLACE: dict[str, str] = {
    "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=", "ifloordiv": "//=", "imod": "%=", "imatmul": "@=",
    "ipow": "**=", "iand": "&=", "ior": "|=", "ixor": "^=", "ilshift": "<<=", "irshift": ">>=",
}  # fmt: skip

# Builtins of torch._C._nn that torch.nn.functional offers under these names (torch/nn/functional.py).
FUNCTIONAL: dict[str, str] = {
    "linear": "linear", "gelu": "gelu", "softplus": "softplus", "softshrink": "softshrink", "one_hot": "one_hot",
    "avg_pool2d": "avg_pool2d", "avg_pool3d": "avg_pool3d", "log_sigmoid": "logsigmoid",
    "scaled_dot_product_attention": "scaled_dot_product_attention", "pad": "pad",
}  # fmt: skip

# aten.NAME.OVERLOAD that is a Python operator, where both operands are positional and nothing else is given.
ATEN_BINARY: dict[str, str] = {
    "add.Tensor": "add", "sub.Tensor": "sub", "mul.Tensor": "mul", "div.Tensor": "truediv", "pow.Tensor_Scalar": "pow",
    "pow.Tensor_Tensor": "pow", "pow.Scalar": "pow", "bitwise_and.Tensor": "and_", "bitwise_or.Tensor": "or_",
    "bitwise_xor.Tensor": "xor", "bitwise_and.Scalar": "and_", "bitwise_or.Scalar": "or_", "bitwise_xor.Scalar": "xor",
    "eq.Tensor": "eq", "eq.Scalar": "eq", "ne.Tensor": "ne", "ne.Scalar": "ne", "lt.Tensor": "lt", "lt.Scalar": "lt",
    "le.Tensor": "le", "le.Scalar": "le", "gt.Tensor": "gt", "gt.Scalar": "gt", "ge.Tensor": "ge", "ge.Scalar": "ge",
    "remainder.Tensor": "mod", "remainder.Scalar": "mod",
}  # fmt: skip
ATEN_UNARY: dict[str, str] = {"neg.default": "neg", "bitwise_not.default": "invert"}

# Overloads that nothing but the ATen operator itself reaches: torch turns the number into a tensor.
ONLY_ATEN = words(
    "add.Scalar sub.Scalar mul.Scalar div.Scalar div.Scalar_mode add_.Scalar sub_.Scalar mul_.Scalar div_.Scalar div_.Scalar_mode"
)

# aten.NAME that is torch.NAME with the same arguments, whatever the overload (but for ONLY_ATEN).
TORCH_FUNCTIONS = words(
    """
    abs acos acosh add addbmm addcdiv addcmul addmm addmv addr all amax amin aminmax any arange argmax argmin
    argsort asin asinh atan atan2 atanh baddbmm bernoulli bitwise_and bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor bmm bucketize cat cdist ceil cholesky clamp clamp_max clamp_min clone
    complex constant_pad_nd convolution copysign cos cosh cross cummax cummin cumprod cumsum deg2rad diag_embed
    diagonal digamma div dot empty empty_like empty_strided eq erf erfc erfinv exp exp2 expm1 eye fill flip
    floor floor_divide fmax fmin fmod frac frexp full full_like gather gcd ge ger grid_sampler_2d
    grid_sampler_3d gt heaviside histc hypot i0 igamma igammac index_add index_copy index_fill index_put
    index_reduce index_select isfinite isinf isnan isneginf isposinf kthvalue lcm ldexp le lerp lgamma linspace
    log log10 log1p log2 logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit
    logspace logsumexp lt masked_fill masked_scatter masked_select max maximum mean median min minimum mm mode
    mul multinomial mv mvlgamma nan_to_num nanmedian native_batch_norm native_dropout native_group_norm
    native_layer_norm ne neg nextafter nonzero ones ones_like polar polygamma pow prod rad2deg rand
    rand_like randint randint_like randn randn_like randperm real reciprocal relu remainder renorm
    repeat_interleave roll rot90 round rsqrt rsub scalar_tensor scatter scatter_add scatter_reduce searchsorted
    select_scatter sgn sigmoid sign signbit sin sinc sinh slice_scatter sort split split_with_sizes sqrt square
    stack std std_mean sub sum svd take tan tanh threshold topk trace triangular_solve tril tril_indices triu
    triu_indices trunc unbind unique_consecutive var var_mean vdot view_as_complex view_as_real where xlogy
    zeros zeros_like
    """
)

# aten.NAME that is a method of its first argument.
METHODS = words(
    """
    view expand permute t transpose unsqueeze squeeze unfold as_strided detach repeat copy_ add_ mul_ sub_ div_
    fill_ zero_ clone new_zeros new_ones new_empty new_full item
    """
)

# aten.NAME that is torch.nn.functional.NAME with the same arguments.
F_FUNCTIONS = words(
    """
    gelu silu leaky_relu hardtanh hardswish hardsigmoid softplus softshrink mish avg_pool2d avg_pool3d glu
    """
)

# Keyword arguments that say what is the default anyway.
DEFAULT_KEYWORDS: dict[str, tuple[object, ...]] = {
    "layout": (None, {"layout": "strided"}),
    "pin_memory": (False, None),
    "device": ({"device": "cpu"}, None),
    "memory_format": (None, {"memory_format": "preserve_format"}),
    "dtype": (None,),
    "generator": (None,),
    "requires_grad": (False,),
}

# Operators whose result is random: their order matters.
RANDOM = words(
    """
    rand randn randint random rand_like randn_like randint_like randperm normal uniform exponential geometric cauchy log_normal
    bernoulli binomial multinomial poisson _standard_gamma _sample_dirichlet gumbel_softmax
    dropout dropout1d dropout2d dropout3d native_dropout _fused_dropout alpha_dropout feature_dropout
    feature_alpha_dropout rrelu rrelu_with_noise
    fractional_max_pool2d fractional_max_pool3d scaled_dot_product_attention
    """
)

# What keeps an operator of that name from drawing: an argument's position, its keywords, its default, and what it is then.
_NEVER, _OFF = (1, ("p",), None, 0.0), (2, ("training", "train"), True, False)
_ONLY_IF_ASKED = (2, ("training", "train"), False, False)
DRAWS_NOTHING: dict[str, tuple[tuple[int, tuple[str, ...], object, object], ...]] = {
    **dict.fromkeys(words("dropout dropout1d dropout2d dropout3d native_dropout feature_dropout"), (_NEVER, _OFF)),
    **dict.fromkeys(words("alpha_dropout feature_alpha_dropout"), (_NEVER, _ONLY_IF_ASKED)),
    "rrelu": ((3, ("training",), False, False),),
    "rrelu_with_noise": ((4, ("training",), False, False),),
    "scaled_dot_product_attention": ((4, ("dropout_p",), 0.0, 0.0),),
}

# Operators that are called for what they do, not for what they return.
EFFECTS = words(
    """
    _assert _assert_async _assert_scalar _check sym_constrain_range sym_constrain_range_for_size auto_functionalized
    auto_functionalized_v2 _assert_tensor_metadata print set_inplace_requires_grad_allowed _set_tensor_requires_grad
    """
)
