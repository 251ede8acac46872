"""How exactly torch is told to compute, outside of any graph and of the compiler's settings: TF32, cuDNN, attention.

A product of matrices that is 1e-3 off is right with TF32 and wrong without, and which kernel cuDNN or attention takes is decided
here as well.
"""

import warnings
from operator import attrgetter
from typing import Any, Callable, Iterator, List, Tuple

Row = Tuple[str, Callable[[Any], Any], Any]  # the statement that sets it, what reads it, and what it is by default


def _flag(path: str, default: bool) -> Row:
    return "torch.%s = %%s" % path, attrgetter(path), default


def _attention(kind: str) -> Row:
    return (
        "torch.backends.cuda.enable_%s_sdp(%%s)" % kind,
        lambda torch: getattr(torch.backends.cuda, "%s_sdp_enabled" % kind)(),
        True,
    )


# The first that can be read tells: since 2.9 each raises where the program has spoken by another.
_PRODUCTS: Tuple[Row, ...] = (
    ('torch.set_float32_matmul_precision("%s")', lambda torch: torch.get_float32_matmul_precision(), "highest"),
    _flag("backends.cuda.matmul.allow_tf32", False),
    ('torch.backends.cuda.matmul.fp32_precision = "%s"', attrgetter("backends.cuda.matmul.fp32_precision"), "none"),
)
_OTHERS: Tuple[Row, ...] = (
    _flag("backends.cuda.matmul.allow_fp16_reduced_precision_reduction", True),
    _flag("backends.cuda.matmul.allow_bf16_reduced_precision_reduction", True),
    _attention("flash"),
    _attention("mem_efficient"),
    _attention("math"),
    _attention("cudnn"),
)
_CUDNN: Tuple[Row, ...] = (
    _flag("backends.cudnn.enabled", True),
    _flag("backends.cudnn.allow_tf32", True),
    _flag("backends.cudnn.benchmark", False),
    _flag("backends.cudnn.deterministic", False),
)


def numerics_lines() -> List[str]:
    """What differs from torch's defaults, as statements."""
    import torch

    rows = _OTHERS + (_CUDNN if torch.backends.cudnn.is_available() else ())
    return [line for line in [next(_told(torch, _PRODUCTS), ""), *_told(torch, rows)] if line]


def _told(torch: Any, rows: Tuple[Row, ...]) -> Iterator[str]:
    """For each row that can be read: its statement, empty where it is as by default."""
    for text, read, default in rows:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # some are on their way out
                value = read(torch)
        except Exception:  # another release, or another way to say it
            continue
        if type(value) is type(default):
            yield text % value if value != default else ""
