"""What is no bug of the compiler: it fails uncompiled, too, or only rounds."""

from __future__ import annotations

from sweep_programs.forms import Bug, checked

SCRIPT = """
x = torch.randn({rows}, 4)
print(torch.compile(lambda x: x.sin())(x).sum())
{fault}
"""

BUGS = (
    Bug(
        "missing_file",
        "script",
        (*tuple(SCRIPT.format(rows=rows, fault="open('data.bin')") for rows in (2, 3)),),
        "script",
    ),
    Bug(
        "wrong_shapes",
        "script",
        (SCRIPT.format(rows=5, fault="print(x @ x)"),),
        "script",
    ),
    Bug(
        "index_out_of_range",
        "script",
        (
            *tuple(
                f"""

def look(table, place):
    return table[place].{more}


print(torch.compile(look)(torch.randn(5, 3), torch.tensor([0, {place}])))
"""
                for place, more in ((5, "sum()"), (9, "sin()"))
            ),
        ),
        "script",
    ),
    Bug(
        "written_before_backward",
        "script",
        (
            """

def step(x):
    h = x.sigmoid()
    loss = (h * h).sum()
    h.mul_(2)
    return loss


x = torch.randn(4, requires_grad=True)
torch.compile(torch.sin)(x.detach())
step(x).backward()
""",
        ),
        "script",
    ),
    Bug(
        "mask_of_another_shape",
        "script",
        (checked("given = (torch.randn(3, 4), torch.ones(3, 5))", "x, mask", "(x * mask).sum(-1).softmax(0)"),),
        "script",
    ),
    Bug(
        "no_such_argument",
        "script",
        (
            """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, required=True)
steps = parser.parse_args().steps
print(torch.compile(torch.cos)(torch.randn(steps)))
""",
        ),
        "script",
    ),
    Bug(
        "rounding_in_half",
        "none|inductor|decomp_partition|aot_autograd",
        (
            checked(
                "given = (torch.randn(64, 64, dtype=torch.bfloat16), torch.randn(64, dtype=torch.bfloat16))",
                "x, w",
                "(F.layer_norm(x.exp() * 3, (64,)) * w).sum(-1)",
            ),
        ),
        "rounding",
    ),
)
