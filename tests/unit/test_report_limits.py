"""What is cut, how much of it, and that everything fits in the end."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from triage.report.limits import Part, fit, issue_size, shorten


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


def joined(texts: Mapping[str, str]) -> str:
    return "#".join(texts.values())


def test_a_cut_says_how_much_and_where_the_rest_is() -> None:
    text = lines(1000)
    short = shorten(Part(text, "logs/x.log"), 300)
    (note,) = [line for line in short.splitlines() if "cut here" in line]
    kept = short.replace(note + "\n", "")
    assert f"[... {len(text) - len(kept):,} characters cut here; the whole text is in logs/x.log ...]" == note
    assert short.startswith("line 0\n") and short.endswith("line 999\n")


def test_what_fits_is_not_touched() -> None:
    assert fit({"a": Part("x\n" * 10, "f")}, joined, 100) == "x\n" * 10


def test_the_biggest_goes_first_and_the_precious_last() -> None:
    parts = {"log": Part(lines(2000), "l"), "env": Part(lines(50), "e"), "code": Part(lines(300), "c", precious=True)}
    text = fit(parts, joined, 6000)
    log, env, code = text.split("#")
    assert "cut here" in log and env == parts["env"].text and code == parts["code"].text


def test_the_precious_is_cut_only_where_that_is_allowed() -> None:
    parts = {"code": Part(lines(300), "c", precious=True, mark="# ")}
    assert fit(parts, joined, 900, cut_precious=False) is None
    text = fit(parts, joined, 900)
    assert text is not None and "\n# [... " in text


def test_nothing_can_be_done_about_the_rest() -> None:
    assert fit({"a": Part("x" * 1000, "f")}, lambda texts: "y" * 1000 + texts["a"], 900) is None


@given(
    st.dictionaries(
        st.sampled_from("abcd"),
        st.tuples(st.text("x\n\U0001f525", max_size=400), st.integers(1, 60), st.booleans()),
        min_size=1,
    ),
    st.integers(3500, 9000),
)
def test_it_fits_whatever_the_parts_are(made: dict[str, tuple[str, int, bool]], limit: int) -> None:
    parts = {
        name: Part(text * times, f"{name}.log", precious=precious) for name, (text, times, precious) in made.items()
    }
    text = fit(parts, joined, limit)
    assert text is not None
    assert issue_size(text) <= limit


def test_size_counts_as_the_strictest_reader() -> None:
    assert issue_size("a\n\U0001f525") == 5
