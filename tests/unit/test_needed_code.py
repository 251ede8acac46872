"""What the program did to the compiler, and a reduced script still does."""

import pytest

from triage.culprit.needed_code import needed_code
from triage.model.graphcase import Effect

DECOMPOSITION = """@register_decomposition([torch.ops.aten.hardswish.default])
def hardswish(x):
    return x.reshape(-1)"""
EFFECTS = (
    Effect("ir.Reduction.create = staticmethod(made)", "/home/me/lib/patches.py:9"),
    Effect("config.post_grad_custom_post_pass = fused", "/home/me/train.py:21"),
    Effect(DECOMPOSITION, "/home/me/lib/tables.py:6"),
    Effect("decompositions[aten.addcmul.default] = addcmul", "/home/me/lib/tables.py:11"),
)
CALL = "torch.compile(f)(x)\n"


@pytest.mark.parametrize(
    ("script", "role", "operator", "place"),
    [
        (f"{DECOMPOSITION}\n{CALL}", "decomposition", "aten::hardswish", "tables.py:6"),
        (
            f"decompositions[torch.ops.aten.addcmul.default] = g\n{CALL}",
            "decomposition",
            "aten::addcmul",
            "tables.py:11",
        ),
        (f"torch._inductor.config.post_grad_custom_post_pass = p\n{CALL}", "post-grad pass", None, "train.py:21"),
        (f"torch._inductor.ir.Reduction.create = g\n{CALL}", "patch of torch", None, "patches.py:9"),
    ],
)
def test_a_registration_that_is_left_is_the_programs(script, role, operator, place):
    own = needed_code(script, EFFECTS)
    assert own.needed and not own.raised
    assert (own.role, own.operator, own.place) == (role, operator, place)
    assert own.headline == f"Fails because of {own.name}, {place}" and own.line.startswith(f"{place}: ")


@pytest.mark.parametrize(
    "script",
    [
        CALL,
        "torch._inductor.config.max_autotune = True\n" + CALL,
        "@register_decomposition([torch.ops.aten.relu.default])\ndef g(x):\n    return x\n",
        "@torch.library.register_fake('a::b')\ndef g(x):\n    return x\n",
        "not python (",
    ],
)
def test_what_is_not_the_programs_or_is_gone_is_not_named(script):
    assert needed_code(script, EFFECTS) is None


def test_a_setting_is_no_patch():
    effects = (Effect("config.max_autotune = True", "/a/b.py:1"), Effect("torch.x.config.y = made()", "/a/b.py:2"))
    assert needed_code("config.max_autotune = True\ntorch.x.config.y = made()\n", effects) is None
