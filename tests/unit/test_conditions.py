"""What a failure cannot do without: told only where a run showed it, and what was varied in vain is told too. No torch."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from printer_cases import case, meta, node, tensor
from stand_ins import BOOM, Runner, failing, inquiry

from triage.culprit.conditions import Answered, ask, merged, of_neighbour, of_parts, of_settings
from triage.culprit.ways_round.spellings import CONTIGUOUS, in_another_dtype
from triage.judge.oracle import SignatureOracle
from triage.judge.signature import signature_of
from triage.model.graphcase import GraphCase
from triage.model.outcome import Outcome, RaisedException
from triage.model.report import AblationRow, Condition, SubsystemSearch
from triage.reduce.printing.printer import Form

GRAPH = case([tensor("x", 4, 17)], [node("y", "torch.relu", "%x", out=meta(4, 17))], "%y")


def asked(graph: GraphCase, fails: Any) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
    told = answered(graph, fails)
    rows = {row.setting: row.outcome for row in told.rows}
    return rows, {each.condition: each.shown_by for each in told.conditions}, told.indifferent


def answered(graph: GraphCase, fails: Any) -> Answered:
    return ask(graph, None, inquiry(failing(fails)))


def last_size(source: str) -> int:
    found = re.search(
        r"(\d+)[,)]* *(?:,\s*dtype=\S+\))?\s*$", next(line for line in source.splitlines() if "x = " in line)
    )
    assert found is not None, source
    return int(found.group(1))


@pytest.mark.parametrize("only", [True, False])
def test_whether_it_needs_a_gpu(only: bool) -> None:
    graph = case([tensor("x", 4, device="cuda:0")], [node("y", "torch.relu", "%x", out=meta(4, device="cuda:0"))], "%y")
    rows, needed, varied = asked(graph, lambda source: 'device="cuda"' in source or not only)
    assert rows["the CPU instead of cuda"] == ("ok" if only else "same_failure")
    assert (needed.get("the device is cuda") == "with the CPU instead of cuda it passes") is only
    assert ("the device (the CPU fails as well)" in varied) is not only


def test_a_bound_is_told_with_the_runs_on_both_sides():
    _, needed, varied = asked(GRAPH, lambda source: last_size(source) >= 17)
    assert needed == {"the size of the last dimension is at least 17": "with 16 it passes, with 34 it fails as well"}
    assert "the dtype (float64 fails as well)" in varied
    assert "the values of the inputs (ones fail as well)" in varied
    assert any(text.startswith("the size of the first dimension") for text in varied)
    assert not any("last dimension" in text for text in varied)


def test_values_that_were_not_asked_about_are_not_said_not_to_matter() -> None:
    labels = tensor("labels", 4, dtype="int64", fill="values", data=[0, -1, 3, 3])
    graph = case([tensor("x", 4, 17), labels], [node("y", "torch.add", "%x", "%labels", out=meta(4, 17))], "%y")
    _, _, varied = asked(graph, lambda _: True)
    assert "the values of the floating-point inputs (ones fail as well)" in varied
    _, needed, _ = asked(graph, lambda source: "ones" not in source)
    assert "the floating-point inputs are not all ones" in needed


@pytest.mark.parametrize("only", [True, False])
def test_whether_another_operation_fails_as_well(only: bool) -> None:
    told = answered(GRAPH, lambda source: "relu" in source or not only)
    assert told.any_operation is not only
    assert any("torch.tanh" in text for text in told.indifferent) is not only
    assert not any("operation" in each.condition for each in told.conditions)


@pytest.mark.parametrize(
    ("graph", "form"),
    [
        (GRAPH, Form(check="values")),  # what it gives is what is wrong
        (case([tensor("x", 4)], [node("y", ".add_", "%x", 1, out=meta(4))], "%y"), None),
        (case([tensor("x", 4, dtype="int64")], [node("y", "torch.neg", "%x", out=meta(4, dtype="int64"))], "%y"), None),
        (case([tensor("x", 4)], [*GRAPH.nodes, node("z", "torch.sin", "%y", out=meta(4))], "%z"), None),
    ],
)
def test_where_the_operation_matters_or_no_other_fits_it_is_not_asked(graph: GraphCase, form: Form | None) -> None:
    rows = ask(graph, form, inquiry(failing(lambda _: True))).rows
    assert "another operation" not in {row.setting for row in rows}


def test_a_batch_of_one():
    batch = case([tensor("x", 9, 4)], [node("y", "torch.relu", "%x", out=meta(9, 4))], "%y")
    rows, needed, _ = asked(batch, lambda source: not re.search(r"\b1, 4\b", source))
    assert rows["1 instead of 9 as the size of the first dimension"] == "ok", rows
    assert needed["the size of the first dimension is more than 1"] == "with 1 it passes"
    assert not any("at least" in told for told in needed)


def test_of_two_bounds_the_nearer_is_told():
    batch = case([tensor("x", 9, 4)], [node("y", "torch.relu", "%x", out=meta(9, 4))], "%y")
    rows, needed, _ = asked(batch, lambda source: not re.search(r"\b[18], 4\b", source))
    assert rows["1 instead of 9 as the size of the first dimension"] == "ok", rows
    assert [told for told in needed if "first dimension" in told] == ["the size of the first dimension is at least 9"]


def test_a_size_between_two_that_fail_is_no_bound():
    batch = case([tensor("x", 9, 4)], [node("y", "torch.relu", "%x", out=meta(9, 4))], "%y")
    _, needed, _ = asked(batch, lambda source: not re.search(r"\b8, 4\b", source))
    assert [told for told in needed if "first dimension" in told] == ["the size of the first dimension is not 8"]
    assert needed["the size of the first dimension is not 8"] == "with 8 it passes, with 1, 18 it fails as well"


def test_one_size_only():
    _, needed, _ = asked(GRAPH, lambda source: last_size(source) == 17)
    assert needed["the size of the last dimension is more than 16"] == "with 16 it passes"
    assert needed["the size of the last dimension is less than 34"] == "with 34 it passes"


def test_the_dtype_and_the_values():
    rows, needed, _ = asked(GRAPH, lambda source: "float64" not in source and "ones" not in source)
    assert needed["the dtype is float32"] == "with float64 instead of float32 it passes"
    assert needed["the inputs are not all ones"] == "with ones as values it passes"
    assert rows["float64 instead of float32"] == rows["ones as values"] == "ok"


@pytest.mark.parametrize("check", ["values", "strides", "exception"])
def test_of_a_graph_that_draws_random_numbers_no_size_is_told_to_be_needed_where_it_may_pass_by_luck(
    check: str,
) -> None:
    """With another size the masks are others, and some are right by chance."""
    dropped = node("y", "torch.nn.functional.dropout", "%x", 0.5, True, out=meta(4, 17))
    graph = case([tensor("x", 4, 17)], [dropped], "%y")
    answers = ask(graph, Form(check=check), inquiry(failing(lambda source: "17" in source and "float64" not in source)))
    needed = [each.condition for each in answers.conditions]
    assert "the dtype is float32" in needed
    assert any("the last dimension" in each for each in needed) is (check != "values")


def test_strides():
    strided = case([tensor("x", 4, 17, stride=(1, 4))], [node("y", "torch.relu", "%x", out=meta(4, 17))], "%y")
    rows, needed, _ = asked(strided, lambda source: "strided" in source or ".t()" in source or "mT" in source)
    assert rows["contiguous inputs"] == "ok"
    shown_by = "with contiguous strides instead of (1, 4) it passes"
    assert needed["the strides or the storage of the inputs"] == shown_by
    known = [Condition("the strides or the storage of the inputs", shown_by)]
    assert of_neighbour("It passes with contiguous strides instead of (1, 4).", known) == ()


def test_a_value_that_is_put_off_is_told_apart_from_strides() -> None:
    late = tensor("x", 4, 17, stride=(1, 4), lazy="zero")
    lazy = case([late], [node("y", "torch.relu", "%x", out=meta(4, 17))], "%y")
    rows, needed, varied = asked(lazy, lambda source: "zerotensor" in source)
    assert rows["no lazy zero"] == "ok" and not any("values" in each for each in (*rows, *varied))
    assert needed["an input is a lazy zero"] == "with no lazy zero it passes"
    assert rows["contiguous inputs"] == "same_failure"
    assert "the strides or the storage of the inputs" not in needed


def test_what_passes_is_a_spelling_of_the_call():
    strided = case([tensor("x", 4, 17, stride=(1, 4))], [node("y", "torch.relu", "%x", out=meta(4, 17))], "%y")
    assert answered(strided, lambda source: ".t()" in source or "mT" in source).spellings[:1] == (CONTIGUOUS,)
    assert answered(GRAPH, lambda source: "float64" not in source).spellings == (
        in_another_dtype("float32", "float64"),
    )
    assert answered(GRAPH, lambda source: True).spellings == ()


@pytest.mark.parametrize(
    ("dtype", "passing", "spelled"),
    [
        ("complex64", "float32", None),  # the imaginary part would be lost
        ("complex64", "complex128", "complex128"),
        ("complex128", "complex64", None),
        ("float64", "float32", None),
        ("bfloat16", "float32", "float32"),
    ],
)
def test_a_dtype_that_loses_something_is_told_and_no_way_round(dtype: str, passing: str, spelled: str | None):
    graph = case([tensor("x", 4, dtype=dtype)], [node("y", "torch.relu", "%x", out=meta(4, dtype=dtype))], "%y")

    def fails(source: str) -> bool:
        written = re.search(r"torch\.(float64|bfloat16|complex64|complex128)\b", source)
        return (written[1] if written else "float32") != passing

    found = answered(graph, fails)
    told = {each.condition: each.shown_by for each in found.conditions}
    assert told[f"the dtype is {dtype}"] == f"with {passing} instead of {dtype} it passes"
    assert [each for each in found.spellings if each != CONTIGUOUS] == (
        [in_another_dtype(dtype, spelled)] if spelled is not None else []
    )


def test_nothing_is_said_where_nothing_changes():
    _, needed, varied = asked(GRAPH, lambda source: True)
    assert not needed and len(varied) >= 4


def row(setting: str, outcome: str) -> AblationRow:
    return AblationRow(setting, outcome)


def test_what_the_settings_show():
    needed, varied = of_settings(GRAPH, [row("dynamic=True", "same_failure"), row("dynamic=False", "ok")])
    assert needed == (Condition("the shapes are dynamic", "with dynamic=False it passes"),) and not varied
    needed, varied = of_settings(GRAPH, [row("dynamic=True", "same_failure"), row("dynamic=False", "same_failure")])
    assert not needed and varied == ("whether the shapes are dynamic",)
    needed, varied = of_settings(GRAPH, [row("under torch.no_grad()", "ok")])
    assert [each.condition for each in needed] == ["gradients are enabled"] and not varied
    needed, varied = of_settings(GRAPH, [row("under torch.no_grad()", "same_failure")])
    assert not needed and varied == ("whether gradients are enabled",)
    needed, varied = of_settings(GRAPH, [row("dynamic=True", "not_run"), row("forward only", "ok")])
    assert [each.condition for each in needed] == ["a backward pass"] and not varied
    needed, varied = of_settings(None, [row("fullgraph=True", "ok")])
    assert needed == (Condition("graph breaks are allowed", "with fullgraph=True it passes"),) and not varied
    assert of_settings(None, [row("fullgraph=True", "same_failure")]) == ((), ())


def test_options_that_it_needs():
    needed, _ = of_settings(None, [row("without the option a", "ok"), row("without the option b", "same_failure")])
    assert needed == (Condition("the option a", "without it it passes"),)
    assert of_neighbour("It passes without the option a.", needed) == ()
    assert of_neighbour("It passes without the option a.", ()) == needed
    needed, _ = of_settings(None, [row("without the option a", "same_failure"), row("without options", "ok")])
    assert needed == (Condition("one of the options of torch.compile", "without any it passes"),)


def test_parts_and_the_neighbour():
    parts = of_parts(SubsystemSearch(names=("fusion",)))
    assert parts == (Condition("the compiler's fusion", "with fusion switched off it passes"),)
    assert of_parts(None) == of_parts(SubsystemSearch()) == ()
    told = of_neighbour("It passes with float32 instead of complex64.", ())
    assert told == (Condition("complex64", "with float32 instead it passes"),)
    assert of_neighbour("It passes with float32 instead of float16.", [Condition("the dtype is float16", "")]) == ()
    assert of_neighbour("It fails with a size of 3 and passes with 2.", ()) == ()
    assert merged(parts, told, parts) == (*parts, *told)


@pytest.mark.parametrize(("told", "outcome"), [("got {}", "same_failure"), ("no kernel for {}", "other_failure")])
def test_a_message_that_names_the_other_dtype_is_of_the_same_failure(told: str, outcome: str) -> None:
    def ends(source: str, rung: str | None) -> Outcome:
        dtype = "float64" if "float64" in source else "float32"
        words = told if dtype == "float64" else "got {}"
        return replace(BOOM, exception=RaisedException("KeyError", words.format(f"torch.{dtype}")))

    signature = signature_of(ends("", None))
    assert signature is not None
    rows = ask(GRAPH, None, inquiry(Runner(ends), oracle=SignatureOracle(signature))).rows
    row = next(row for row in rows if row.setting == "float64 instead of float32")
    assert row.outcome == outcome
    assert row.note == (None if outcome == "same_failure" else "KeyError: no kernel for torch.float64")


@pytest.mark.parametrize("target", ["torch.relu", "torch.nextafter"])
def test_a_wider_dtype_is_no_other_spelling_of_what_gives_another_number_in_it(target: str) -> None:
    graph = case([tensor("x", 4, dtype="float16")], [node("y", target, "%x", "%x", out=meta(4, dtype="float16"))], "%y")
    told = answered(graph, lambda source: "float16" in source)
    assert "the dtype is float16" in [each.condition for each in told.conditions]
    assert bool(told.spellings) is (target == "torch.relu")
