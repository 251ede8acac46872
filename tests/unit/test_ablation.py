"""The table of settings: each text is run once, several at a time, and what could not be run says why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from printer_cases import case, meta, node, tensor
from stand_ins import BOOM, PASSED, Questions, Runner, failing, inquiry, result

from triage.culprit.ablation import Variant, ablate, variants_of_graph, variants_of_text
from triage.judge.judgement import CandidateResult
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.rungs import BACKENDS
from triage.model.stage import OutcomeKind

GRAPH = case([tensor("x", 4)], [node("y", "torch.relu", "%x", out=meta(4))], "%y")
OF_GRAPH = list(variants_of_graph(GRAPH, None, "inductor"))
TEXT = 'import torch\n\n@torch.compile\ndef f(x):\n    return x\n\ng = torch.compile(f, fullgraph=True, mode="max-autotune")\n'


def unless_static(source: str, rung: str | None) -> Outcome:
    """Fails with Inductor, unless dynamic=False is asked for."""
    return BOOM if rung in (None, "inductor") and "dynamic=False" not in source else PASSED


def table(asked: list[Variant], budget: Questions) -> tuple[dict[str, str], tuple[str, ...], list[str], Runner]:
    runner, told = Runner(unless_static), []
    asking = inquiry(runner, budget=budget, emit=lambda kind, **facts: told.append(facts["setting"]))
    rows, cures = ablate(asked, asking)
    return {row.setting: row.outcome for row in rows}, tuple(cure.text for cure in cures), told, runner


def test_every_setting_has_its_row_and_every_text_is_run_once() -> None:
    rows, cures, told, runner = table(OF_GRAPH, Questions())
    assert rows['backend="aot_eager"'] == "ok" and rows['backend="inductor"'] == "same_failure"
    assert rows["dynamic=True"] == "same_failure" and rows["dynamic=False"] == "ok"
    assert "torch.compile(..., dynamic=False)" in cures and "torch.compile(..., dynamic=True)" not in cures
    assert len(runner.asked) == len(set(zip(runner.rungs, runner.asked, strict=True))) == len(told) < len(rows)
    assert list(rows)[: len(BACKENDS)] == [f'backend="{name}"' for name in BACKENDS]


def test_what_the_budget_did_not_reach_says_so() -> None:
    rows, _, _, runner = table(OF_GRAPH, Questions(2))
    assert rows['backend="eager"'] == rows['backend="aot_eager"'] == "ok"
    assert rows['backend="inductor"'] == rows["dynamic=True"] == "not_run"
    assert len(runner.asked) == 2


def test_a_script_has_its_table_too() -> None:
    rows, cures, _, runner = table(list(variants_of_text(TEXT, "inductor")), Questions())
    assert rows['backend="eager"'] == rows["dynamic=False"] == "ok"
    assert rows["fullgraph=False"] == rows['mode="default"'] == "same_failure"
    assert "torch.compile(..., dynamic=False)" in cures
    asked = runner.asked
    assert (
        TEXT.replace("@torch.compile\n", "@torch.compile(dynamic=False)\n").replace(
            'torch.compile(f, fullgraph=True, mode="max-autotune")',
            'torch.compile(f, fullgraph=True, mode="max-autotune", dynamic=False)',
        )
        in asked
    )
    assert (
        TEXT.replace("@torch.compile\n", "@torch.compile(fullgraph=False)\n").replace(
            "fullgraph=True", "fullgraph=False"
        )
        in asked
    )


@pytest.mark.parametrize(
    ("call", "changed"),
    [
        ("net.compile()", "net.compile(dynamic=False)"),
        ("for block in net:\n    block.compile(dynamic=True)", "for block in net:\n    block.compile(dynamic=False)"),
        ("f = partial(torch.compile)", "f = partial(torch.compile, dynamic=False)"),
        ("f = re.compile('a')", None),
    ],
)
def test_a_module_that_is_compiled_in_place_has_its_settings(call: str, changed: str | None) -> None:
    imports = "import re\nfrom functools import partial\nimport torch\n"
    (row,) = [row for row in variants_of_text(imports + call + "\n", "inductor") if row.setting == "dynamic=False"]
    assert row.text == (changed and imports + changed + "\n")


def test_of_a_backend_of_the_programs_own_any_other_is_a_way_round() -> None:
    found = list(variants_of_text(TEXT, "inductor", own_backend=True))
    changes = {row.setting: row.change for row in found if row.rung is not None}
    assert list(changes) == [f'backend="{name}"' for name in BACKENDS] and all(changes.values())


def test_a_script_that_calls_it_by_another_name_says_so() -> None:
    rows, _, _, _ = table(list(variants_of_text("from torch import compile as c\nc(f)\n", "inductor")), Questions())
    assert rows["dynamic=True"] == "not_run" and rows['backend="inductor"'] == "same_failure"


def test_the_gentlest_workaround_comes_first() -> None:
    """A setting before another backend, a faster backend before a slower one."""
    _, cures, _, _ = table(OF_GRAPH, Questions())
    backends = [f'torch.compile(..., backend="{name}")' for name in reversed(BACKENDS[:-1])]
    assert cures == ("torch.compile(..., dynamic=False)", *backends)


def test_below_inductor_no_mode_is_tried() -> None:
    assert not [row.setting for row in variants_of_graph(GRAPH, None, "aot_eager") if row.setting.startswith("mode")]


def test_of_mode_and_options_one_is_printed() -> None:
    options = replace(GRAPH, context=replace(GRAPH.context, options={"shape_padding": False}))
    rows = {row.setting: row.text or "" for row in variants_of_graph(options, None, "inductor")}
    assert "options" in rows["dynamic=True"] and "options" not in rows['mode="max-autotune" in place of options']


@pytest.mark.parametrize("kind", ["graph", "text"])
@pytest.mark.parametrize(
    ("needed", "told"),
    [
        (["padded"], ["`torch.compile(...)` without the option `padded`"]),
        (["padded", "fused"], ["`torch.compile(...)` without `options`"]),
    ],
)
def test_a_mode_that_passes_for_want_of_an_option_is_no_workaround(kind: str, needed: list[str], told: list[str]):
    given = {"padded": True, "fused": 1, "other": 2}
    graph = replace(GRAPH, context=replace(GRAPH.context, options=given))
    text = f"import torch\n\ng = torch.compile(f, options={given!r})\n"
    asked = list(variants_of_graph(graph, None, "inductor") if kind == "graph" else variants_of_text(text, "inductor"))
    rows, cures = ablate(asked, inquiry(failing(lambda source: any(name in source for name in needed))))
    assert [cure.text for cure in cures if cure.kind != "backend"] == told
    names = [row.setting for row in rows]
    assert names.index("without the option padded") < names.index('mode="max-autotune" in place of options')
    outcome = {row.setting: row.outcome for row in rows}
    assert outcome["without the option other"] == "same_failure" and outcome["without options"] == "ok"
    assert 'mode="max-autotune"' not in outcome and 'mode="default"' not in outcome


def test_options_that_are_not_written_out_go_as_a_whole() -> None:
    found = {
        row.setting: row.text for row in variants_of_text("import torch\ntorch.compile(f, options=O)\n", "inductor")
    }
    assert found["without options"] == "import torch\ntorch.compile(f)\n"
    assert found['mode="max-autotune" in place of options'] == "import torch\ntorch.compile(f, mode='max-autotune')\n"


def test_what_comes_near_the_limit_of_a_hang_shows_nothing():
    def slow(source: str, rung: str | None) -> CandidateResult:
        return replace(result(unless_static(source, rung)), seconds=6.0 if rung == "aot_eager" else 0.1)

    asked = [row for row in OF_GRAPH if row.text is not None]
    asking = inquiry(Runner(slow), seconds=7.0)
    rows, _ = ablate(asked, asking, hung=7.2)
    found = {row.setting: row for row in rows}
    slow = found['backend="aot_eager"']
    assert slow.outcome == "not_run" and slow.note and "6 s" in slow.note
    assert found['backend="eager"'].outcome == "ok"
    rows, _ = ablate(asked, asking)
    assert {row.setting: row.outcome for row in rows}['backend="aot_eager"'] == "ok"


def test_that_the_reproducer_hangs_is_not_asked_again():
    runner = Runner(unless_static)
    rows, _ = ablate(OF_GRAPH, inquiry(runner, seconds=7.0), hung=61.234)
    (row,) = [row for row in rows if row.setting == 'backend="inductor"']
    assert (row.outcome, row.seconds) == ("same_failure", 61.23)
    whole = next(each.text for each in OF_GRAPH if each.setting == row.setting)
    assert (whole, "inductor") not in zip(runner.asked, runner.rungs, strict=True) and runner.asked


@pytest.mark.parametrize(
    ("phase", "ends", "told"),
    [("call", True, "ok"), ("call", False, "other_failure"), ("compile", True, "other_failure")],
)
def test_a_reproducer_that_handles_what_it_expects_and_ends_well_passes(phase: str, ends: bool, told: str) -> None:
    """With another backend it may meet the exception that it relies on; what is not compiled is another matter."""
    error = RaisedException(
        "RuntimeError", "all elements of target should be between 0 and 1", phase=phase, swallowed=True
    )
    outcome = Outcome(OutcomeKind.EXCEPTION, 0.1, 0, exception=error)
    met = CandidateResult(outcome, AgentNotes(raised=(error,)), signature_of(outcome), compiled=True)
    assert inquiry(Runner(lambda source, rung: BOOM), ends=ends).judged(met)[0] == told
