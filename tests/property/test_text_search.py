"""Laws of the source reducer, on made-up programs with a free oracle: what counts as the failure is a property of the text."""

from __future__ import annotations

import ast

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings
from text_helpers import reduced

from triage.reduce.text.code.script import Script, readable
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.passes import TABLE

NAMES = ("alpha", "beta", "gamma")
VALUES = st.one_of(
    st.sampled_from(NAMES),
    st.integers(0, 300).map(str),
    st.sampled_from(['"text"', "f'{alpha} é'", "[1, 2]", "(3,)", '{"k": 4}', "(lambda q: q)", "None"]),
)


def expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "*", "<", "and"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["marker", "print", "torch.relu"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"marker({t[0]}, flag={t[1]})"),
        inner.map(lambda t: f"({t}).shape"),
        inner.map(lambda t: f"[i for i in {t}]"),
    )


EXPRESSIONS = st.recursive(VALUES, expressions, max_leaves=4)


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0) -> str:
    return "".join(draw(statements(depth)) + "\n" for _ in range(draw(st.integers(1, 3))))


@st.composite
def statements(draw: st.DrawFn, depth: int) -> str:
    value = draw(EXPRESSIONS)
    kinds = ["assign", "call", "if", "for", "with", "try", "def", "class"] if depth < 2 else ["assign", "call"]
    kind = draw(st.sampled_from(kinds))
    if kind == "assign":
        return f"{draw(st.sampled_from(NAMES))} = {value}  # a remark"
    if kind == "call":
        return f"print({value})"
    body = "".join("    " + line + "\n" for line in draw(blocks(depth + 1)).splitlines())
    if kind == "if":
        return f"if {value}:\n{body}else:\n    print(1)"
    if kind == "for":
        return f"for alpha in {value}:\n{body}"
    if kind == "with":
        return f"with open({value}) as beta:\n{body}"
    if kind == "try":
        return f"try:\n{body}except ValueError:\n    pass\nfinally:\n    print(2)"
    if kind == "def":
        return f"def gamma(alpha, beta=3):\n{body}    return alpha"
    return f"class Beta(object):\n    def run(self):\n        return {value}"


def program(body: str) -> str:
    head = "import torch\nimport math\nalpha = beta = gamma = marker = math.pi\n"
    return f"{head}{body}marker(alpha, 7)\ntorch.compile(marker)(beta)\n"


def counted(text: str) -> int:
    """The failure: how often `marker` is called, as the tree says."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return sum(isinstance(call.func, ast.Name) and call.func.id == "marker" for call in calls)


PROFILE = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@PROFILE
@given(blocks(), st.integers(1, 2))
def test_the_result_parses_fails_the_same_way_and_is_not_larger(body: str, least: int) -> None:
    text = tidy(readable(program(body)))
    wanted = min(least, counted(text))
    small, _ = reduced(text, lambda candidate: counted(candidate) >= wanted)
    assert counted(small) >= wanted
    assert Script(small).weight() <= Script(text).weight()


@PROFILE
@given(blocks())
def test_the_result_does_not_depend_on_how_many_run_at_once(body: str) -> None:
    text = tidy(readable(program(body)))
    wanted = counted(text)
    results = {reduced(text, lambda candidate: counted(candidate) >= wanted, jobs)[0] for jobs in (1, 2, 3)}
    assert len(results) == 1


@PROFILE
@given(blocks())
def test_what_is_tidied_stays_tidy_and_parses(body: str) -> None:
    once = tidy(readable(program(body)))
    ast.parse(once)
    assert tidy(once) == once


@PROFILE
@given(blocks())
def test_every_edit_of_every_pass_lies_within_the_text(body: str) -> None:
    script = Script(readable(program(body)))
    for one in TABLE:
        for choice in one.propose(script):
            for edits in choice.alternatives:
                assert all(0 <= edit.start <= edit.end <= len(script.text) for edit in edits)


def test_a_long_program_costs_few_queries() -> None:
    text = "import torch\n" + "".join(f"value_{n} = torch.ones({n})\n" for n in range(300))
    text += "torch.compile(value_77)(1)\n"
    small, queries = reduced(text, lambda candidate: "torch.compile" in candidate and "ones(" in candidate)
    assert len(small.splitlines()) <= 4
    assert queries < 60
