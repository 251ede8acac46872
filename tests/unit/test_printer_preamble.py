"""A script carries the registration of the operators it calls, and no others."""

from __future__ import annotations

from printer_cases import case, meta, node, tensor

from triage.reduce.printing.preamble import changes_arguments, preamble
from triage.reduce.printing.printer import print_case

STATEMENTS = (
    "import numpy as np",
    "import kernels_of_a_library",
    "from torch.library import custom_op",
    "SCALE = 2.0",
    "OTHER = 3.0",
    "def helper(x):\n    return x * SCALE",
    "def other_helper(x):\n    return np.asarray(x) * OTHER",
    '@custom_op("ns::one", mutates_args=())\ndef one(x: Tensor) -> Tensor:\n    return helper(x)',
    "@one.register_fake\ndef _(x):\n    return x.clone()",
    '@custom_op("ns::two", mutates_args=("x",))\ndef two(x: Tensor) -> None:\n    other_helper(x)',
    "@two.register_fake\ndef _(x):\n    return None",
    'lib = Library("lib", "DEF")',
    'lib.define("three(Tensor(a!) x, int k=1) -> Tensor")',
    'lib.define("four(Tensor x) -> Tensor")',
    'lib.impl("four", helper, "CPU")',
)


def test_what_other_operators_need_is_left_out() -> None:
    kept = preamble(STATEMENTS, [("ns", "one")])
    assert kept.imports == ("import kernels_of_a_library", "from torch.library import custom_op")
    assert kept.statements == (STATEMENTS[3], STATEMENTS[5], STATEMENTS[7], STATEMENTS[8])
    kept = preamble(STATEMENTS, [("lib", "four")])
    assert kept.statements == (STATEMENTS[3], STATEMENTS[5], *STATEMENTS[11:12], *STATEMENTS[13:])


def test_nothing_is_carried_where_no_operator_is_left() -> None:
    text = print_case(case([tensor("x", 3)], [node("s", "torch.sin", "%x", out=meta(3))], "%s", preamble=STATEMENTS))
    assert "ns::" not in text and "import numpy" not in text


def test_the_operator_is_called_as_people_do_and_names_do_not_clash() -> None:
    statements = (
        "import torch",
        'f = torch.library.custom_op("ns::one", lambda x: x * 2, mutates_args=())',
        "def x():\n    pass",
    )
    nodes = [node("s", "torch.ops.ns.one.default", "%l", out=meta(3))]
    text = print_case(case([tensor("l", 3, source="L['f']")], nodes, "%s", preamble=statements))
    assert "def fn(x):\n    return torch.ops.ns.one(x)" in text or "def fn(y):\n    return torch.ops.ns.one(y)" in text
    assert "torch.compile(fn, " in text


def test_whether_an_operator_changes_its_arguments_is_read_off_the_registration() -> None:
    assert not changes_arguments(STATEMENTS, "ns", "one")
    assert changes_arguments(STATEMENTS, "ns", "two")
    assert changes_arguments(STATEMENTS, "lib", "three")
    assert not changes_arguments(STATEMENTS, "lib", "four")
    assert changes_arguments(("import kernels_of_a_library",), "lib", "five")
