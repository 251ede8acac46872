"""What the program's checks allow is left alone by the passes that change values; the rest around it is not."""

from __future__ import annotations

import pytest
from text_helpers import reduced, results

from triage.reduce.text.passes import arguments, definitions, expressions, literals

CHANGING = (arguments, definitions, expressions, literals)


# What is checked here, in short: the difference of what is compiled.
D = "(f(x) - y).norm()"


@pytest.mark.parametrize(
    ("text", "check", "kept"),
    [
        ("torch.testing.assert_close(f(x), y, rtol=1e-3, atol=1e-4)\n", "close(f(x), y", "y, rtol=1e-3, atol=1e-4)"),
        ("assert torch.allclose(f(x), y, 0.01, 0.5)\n", "close(f(x), y", "y, 0.01, 0.5)"),
        ("assert f(x) == pytest.approx(y, 0.01)\n", "f(x) == pytest.approx(y", "approx(y, 0.01)"),
        ("assert f(x) == pytest.approx(y, rel=0.01)\n", "f(x) == pytest.approx(y", "approx(y, rel=0.01)"),
        ("self.assertAlmostEqual(f(x), y, 3)\n", "Equal(f(x), y", "y, 3)"),
        (f"assert {D} < 1e-4\n", f"assert {D}", "< 1e-4"),
        (f"assert {D} < 10 * torch.finfo(y.dtype).eps\n", f"assert {D}", "< 10 * torch.finfo(y.dtype).eps"),
        (f"if {D} > 1e-3:\n    raise ValueError\n", f"if {D}", "> 1e-3"),
        (f"sys.exit(int({D} > 0.125))\n", f"sys.exit(int({D}", "> 0.125"),
        (f"LIMIT = 0.125\nif {D} > LIMIT:\n    sys.exit(1)\n", f"if {D}", "> LIMIT"),
        (f"LIMIT = 0.125\nif {D} > LIMIT:\n    sys.exit(1)\n", "LIMIT = ", "LIMIT = 0.125"),
        ("TOL = 2.5 / 100\nassert_close(f(x), y, rtol=TOL, atol=0)\n", "close(f(x), y", "y, rtol=TOL, atol=0)"),
        ("TOL = 2.5 / 100\nassert_close(f(x), y, rtol=TOL, atol=0)\n", "TOL = ", "TOL = 2.5 / 100"),
        ("T = {'rtol': 1e-3, 'atol': 0.5}\nassert_close(f(x), y, **T)\n", "T = ", "T = {'rtol': 1e-3, 'atol': 0.5}"),
        ("T = {'rtol': 1e-3, 'atol': 0.5}\nassert_close(f(x), y, **T)\n", "close(f(x), y", "**T"),
        ("for t in (0.125, 0.25):\n    assert_close(f(x), y, atol=t)\n", "for t in (0", "for t in (0.125"),
        (f"def near(a, by=0.125):\n    assert a < by\nnear({D})\n", "near(a, by", "by=0.125"),
        (f"def near(a, by):\n    assert a < by\nnear({D}, 0.125)\n", f"near({D}", f"near({D}, 0.125)"),
        (f"bad = [i for i in n if {D} > 1e-4]\n", f"if {D}", "> 1e-4"),
        (f"bad = [i for i in n if -1e-4 < {D}]\n", f"< {D}", "-1e-4 <"),
        (f"ok &= {D} <= 1e-4 * y.norm()\n", f"ok &= {D}", "<= 1e-4 * y.norm()"),
        (f"EPS = 1e-4\nbad = [i for i in n if {D} > EPS]\n", "EPS = ", "EPS = 1e-4"),
        (f"EPS = 1e-4\nbad = [i for i in n if {D} > EPS]\n", f"if {D}", "> EPS"),
        (f"def off(a, by=1e-4):\n    return a > by\nassert not off({D})\n", "off(a, by", "by=1e-4"),
        (f"self.tol = 1e-4\nbad = {D} > self.tol\n", "self.tol = ", "self.tol = 1e-4"),
        (f"p.add_argument('--tol', default=0.5)\nassert {D} < p.parse_args().tol\n", "'--tol'", "'--tol', default=0.5"),
    ],
)
def test_what_a_check_allows_stays(text, check, kept):
    found = [other for one in CHANGING for other in results(text, one.propose) if check in other]
    assert all(kept in other for other in found), next(other for other in found if kept not in other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = f(0.125)\nassert_close(x, y, atol=0.125)\n", "x = f(0.0)\nassert_close(x, y, atol=0.125)\n"),
        ("n = 64\nx = f(n)\nassert x.shape[0] <= n\n", "n = 1\nx = f(n)\nassert x.shape[0] <= n\n"),
        ("nn.LayerNorm(4, eps=0.125)\n", "nn.LayerNorm(4, eps=0.0)\n"),
        ("EPS = 0.01\ny = (x + EPS) * (x > EPS)\n", "EPS = 0.0\ny = (x + EPS) * (x > EPS)\n"),
        ("y = torch.where(x > 0.5, x, z)\n", "y = torch.where(x > 0.0, x, z)\n"),
    ],
)
def test_other_numbers_become_smaller(text, expected):
    assert expected in results(text, literals.propose)


def test_an_argument_of_a_check_that_allows_nothing_goes():
    text = "assert_close(x, y, rtol=1e-3, atol=0.5, msg='far')\n"
    assert results(text, arguments.propose)[0] == "assert_close(x, y, rtol=1e-3, atol=0.5)\n"


def test_a_check_that_would_only_fail_by_rounding_is_not_what_is_left():
    text = (
        "import torch\nx = torch.randn(64, 64)\nf = torch.compile(lambda x: x.sin())\n"
        "torch.testing.assert_close(f(x), x.cos(), rtol=1e-3, atol=1e-4)\n"
    )
    left, _ = reduced(text, lambda candidate: "assert_close(f(x)" in candidate)
    assert "rtol=1e-3, atol=1e-4" in left
