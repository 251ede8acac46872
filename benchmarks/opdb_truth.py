"""Which failing samples are one bug, by hand, and how a sweep over them did: `python benchmarks/opdb_truth.py DIR`.

Written for torch 2.13.0 on CPU. Who decides it here reads the line of torch that is wrong, and whether one change there would
mend both; that the sweep cannot know. A sample that rounds otherwise was measured against double precision: compiled, it is
no further from it than it is uncompiled.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from sweep import told


@dataclass(frozen=True)
class Bug:
    """`scripts` are patterns of names without `.py`, `issue` a number of pytorch/pytorch where one is known."""

    name: str
    scripts: tuple[str, ...]
    stage: str
    why: str
    issue: int | None = None


ROUNDING = "rounding"
ROUNDED = (
    "_native_batch_norm_legit", "addcdiv", "addr", "cross", "grid_sampler_2d", "lerp", "linalg_cross", "log_softmax", "logit",
    "masked_log_softmax",
    "masked_softmax", "masked_softmin", "native_batch_norm", "nn_functional_batch_norm", "nn_functional_binary_cross_entropy",
    "nn_functional_cross_entropy", "nn_functional_grid_sample", "nn_functional_instance_norm",
    "nn_functional_interpolate_linear", "nn_functional_interpolate_trilinear", "nn_functional_softmin", "softmax",
)  # fmt: skip
COMPLEX = ("cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve", "pinv_hermitian", "qr")
BUGS = (
    Bug(
        "rounding",
        (
            *(f"op-{name}-bfloat16-*" for name in ROUNDED),
            "op-nn_functional_layer_norm-float32-2-grad",  # of one element: the gradient is nothing but the error of its mean
            "module-GroupNorm-bfloat16-*",
            "module-LinearCrossEntropyLoss-bfloat16-*",
        ),
        ROUNDING,
        "decomposed, an operation is computed in float32 and rounded once, where eager rounds each step",
    ),
    Bug(
        "polygamma_in_place",
        ("op-polygamma_*-inplace*",),
        "aot_autograd",
        "aten::polygamma_ has no functional twin with its arguments in the same order, so functionalization takes it for foreign",
    ),
    Bug(
        "addbmm_in_place",
        ("op-addbmm-*-inplace*",),
        "dynamo",
        "the meta kernel expands `self` where the operation resizes it",
    ),
    Bug(
        "cov_dynamic",
        ("op-cov-*-dynamic",),
        "dynamo",
        "cov is composed in C++, which asks for a number of elements that is symbolic",
    ),
    Bug(
        "complex_add",
        (
            "op-nn_functional_rms_norm-complex64-4-grad",
            "op-pinverse-complex64-1-grad",
            *(f"op-*{name}-complex64-*-grad" for name in COMPLEX),
        ),
        "decomp_partition",
        "Inductor's decomposition of `add` views pairs of floats as complex whatever the strides are",
        190274,
    ),
    Bug(
        "while_loop_carry",
        ("hop-while_loop_stack_output_*",),
        "dynamo",
        "a carried value changes its dtype in the body, which eager lets pass and Dynamo refuses",
    ),
    Bug(
        "invoke_quant_partition",
        ("hop-invoke_quant_simple-*-grad",),
        "aot_autograd",
        "its gradient cannot be partitioned",
    ),
    Bug(
        "numpy_of_bool",
        ("autograd_function-NumpyCubeAutogradFunction-bool-*",),
        "dynamo",
        "NumPy's arithmetic as Dynamo traces it gives bool times a number another dtype than NumPy does",
    ),
    Bug(
        "largest_integer",
        ("op-unravel_index-int64-*-dynamic",),
        "aot_autograd",
        "a size of 2**63 - 1 is infinity to the arithmetic of symbols",
    ),
    Bug(
        "complex_nan",
        ("op-logaddexp-complex64-*",),
        "decomp_partition",
        "a complex constant with a NaN is written into the graph's code as `nanj`",
        188596,
    ),
    Bug(
        "pinverse_complex",
        ("op-linalg_pinv-complex64-*", "op-pinverse-complex64-*"),
        "aot_autograd",
        "its kernel conjugates lazily, which is lost under any dispatch mode",
        198118,
    ),
    Bug("adam_step", ("optim-Adam*-float64-*",), "dynamo", "a compiled step counts in float32", 173901),
)


def bug_of(script: str) -> Bug | None:
    """The first whose pattern the script's name has."""
    found = (bug for bug in BUGS if any(fnmatchcase(script, pattern) for pattern in bug.scripts))
    return next(found, None)


def truth_of(scripts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Fate, stage and bug of those that were judged, as `sweep.told` wants them."""
    truth = {}
    for script in scripts:
        bug = bug_of(Path(script).stem)
        if bug is not None:
            fate, stage = (ROUNDING, "none") if bug.stage == ROUNDING else ("fails", bug.stage)
            truth[script] = {"fate": fate, "stage": stage, "bug": bug.name}
    return truth


def main() -> int:
    found = json.loads((Path(sys.argv[1]) / "sweep" / "sweep.json").read_text())
    scripts = [each["script"] for each in found["results"]]
    truth = truth_of(scripts)
    for script in scripts:
        if script not in truth:
            print(f"not judged: {script}")
    return told(truth, found)


if __name__ == "__main__":
    sys.exit(main())
