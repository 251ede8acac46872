"""What is told as a workaround: not what the script was run with and failed, and with what it was run."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from triage.cli.result import show_result
from triage.culprit.settings import Setting, workarounds_of
from triage.culprit.ways_round.changes import Program, of_settings
from triage.culprit.ways_round.source import Source
from triage.judge.signature import FailureSignature
from triage.locate.conclude import Conclusion
from triage.model.outcome import Outcome
from triage.model.report import AblationRow, LadderRow, ReportVerdict, Reproducer, TriageReport, WayRound
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.reduce.verifying import Reproduced
from triage.report.wording import workarounds
from triage.stories.findings import Findings
from triage.stories.reproducer_facts import reproducer_facts, workaround_texts
from triage.stories.run import RunResult

FILE = Path("/program/train.py")
SOURCE = Source('import torch\n\nstep = torch.compile(abs, mode="default")\n')
MODE = Setting("argument", "mode", "reduce-overhead", 'torch.compile(..., mode="reduce-overhead")', 1)
TUNED = Setting("argument", "mode", "max-autotune", 'torch.compile(..., mode="max-autotune")', 1)
WITHOUT = Setting("argument", "mode", None, 'torch.compile(..., mode="default")', 1)
DYNAMIC = Setting("argument", "dynamic", True, "torch.compile(..., dynamic=True)", 1)
CSE = Setting("config", "torch._functorch.config.cse", False, "torch._functorch.config.cse = False", 2)
OPTION = Setting("option", "a", None, "`torch.compile(...)` without the option `a`", 1)
WHOLE = Setting("argument", "options", None, "`torch.compile(...)` without `options`", 2)
CURES = (MODE, TUNED, WITHOUT, DYNAMIC, CSE, OPTION, WHOLE)
REPORT = TriageReport(
    tool={},
    command=("train.py",),
    verdict=ReportVerdict(Symptom.WRONG_RESULT, Stage.INDUCTOR),
    ladder=(LadderRow("eager", "graph", "ok", 1.0), LadderRow("aot_eager", "script", "ok", 1.0)),
    workarounds=(
        MODE.text,
        TUNED.text,
        'torch.compile(..., backend="aot_eager")',
        'torch.compile(..., backend="eager")',
    ),
    ways_round=(WayRound("Compile with `mode='max-autotune'` (train.py:3)", "argument"),),
    reproducer=Reproducer("repro.py", True, 3, True, "graph", "native", 1, 12, 9, 20.0, True),
)


@pytest.mark.parametrize("cure", CURES, ids=lambda cure: cure.text)
def test_what_the_script_failed_with_is_no_workaround(cure: Setting) -> None:
    source = Source(SOURCE.text.replace('mode="default"', "options={'a': 1}")) if cure in (OPTION, WHOLE) else SOURCE
    program = Program(lambda path: source, FILE, {FILE: (3,)})
    (change,) = of_settings(program, [cure])
    kept = workarounds_of([each.text for each in CURES], CURES, [change.words])
    assert kept == tuple(each.text for each in CURES if each is not cure)


@pytest.mark.parametrize(
    ("case", "symptom", "doubt"),
    [
        ("source", Symptom.WRONG_RESULT, "it passes with `dynamic=True`, where the program fails as before"),
        ("graph", Symptom.WRONG_RESULT, None),  # its graph was compared, and is wrong in one place
        ("source", Symptom.EXCEPTION, None),  # known by its type, words and frame; the program may need more
    ],
)
def test_a_setting_that_mends_the_reproducer_alone_makes_it_doubtful(
    case: str, symptom: Symptom, doubt: str | None
) -> None:
    made = Reproduced("f()\n", "native", case, None, 1, 1.0, minimal=False, complete=True, runs=3, verified_runs=3)
    walk = SimpleNamespace(
        conclusion=lambda: SimpleNamespace(symptom=symptom, stage=Stage.AOT_AUTOGRAD, there=None, outcome=None)
    )
    found = Findings(None, None, (), walk, reproduced=made, cures=CURES)
    found.in_vain = ("Compile with `dynamic=True` (train.py:3)",)
    facts = reproducer_facts(found)
    assert facts.doubt == doubt


@pytest.mark.parametrize(
    ("stage", "engine", "features"),
    [
        (Stage.DYNAMO, "native", ("torch.func.jacfwd",)),
        (Stage.AOT_AUTOGRAD, "native", ("torch.func.jacfwd",)),
        (Stage.DYNAMO, "none", ()),  # not reduced: they tell nothing
        (Stage.INDUCTOR, "native", ()),
    ],
)
def test_what_dynamo_cannot_trace_is_told_by_its_names(stage: Stage, engine: str, features: tuple[str, ...]) -> None:
    text = "import torch\ntorch.func.jacfwd(f)(x)\n"
    made = Reproduced(text, engine, "source", None, 1, 1.0, minimal=False, complete=True, runs=3, verified_runs=3)
    walk = SimpleNamespace(
        conclusion=lambda: SimpleNamespace(symptom=Symptom.EXCEPTION, stage=stage, there=None, outcome=None)
    )
    facts = reproducer_facts(Findings(None, None, (), walk, reproduced=made))
    assert facts is not None and facts.features == features


@pytest.mark.parametrize(("outcome", "doubt"), [("ok", True), ("other_failure", False)])
def test_a_reproducer_that_passes_on_the_rung_that_is_blamed_is_doubtful(outcome: str, doubt: bool) -> None:
    """The program raises something else there, and dies with the backend that it asks for."""
    made = Reproduced("f()\n", "native", "graph", None, 1, 1.0, minimal=True, complete=True, runs=3, verified_runs=3)
    there = FailureSignature(OutcomeKind.EXCEPTION, "RuntimeError", "no tensor", message="no tensor.")
    found = Conclusion(Stage.AOT_AUTOGRAD, Symptom.CRASH, failing=LADDER[2], there=there)
    rows = (AblationRow('backend="aot_eager"', outcome, 0.1),)
    walk = SimpleNamespace(conclusion=lambda: found)
    facts = reproducer_facts(Findings(None, None, (), walk, reproduced=made, ablation=rows))
    words = "it passes with `aot_eager`, where the program fails with RuntimeError: no tensor"
    assert facts is not None and facts.doubt == (words if doubt else None)


def test_a_backend_with_which_the_script_fails_is_no_way_round_it() -> None:
    """In a way of its own: the reproducer shows what the script does as it is, and passes there."""
    names = ("aot_eager", "aot_eager_decomp_partition")
    cures = tuple(Setting("backend", "backend", each, f'torch.compile(..., backend="{each}")', 3) for each in names)
    outcomes = {names[0]: OutcomeKind.EXCEPTION, names[1]: OutcomeKind.OK}
    seen = {name: [SimpleNamespace(outcome=Outcome(kind), later=None)] for name, kind in outcomes.items()}
    found = Conclusion(Stage.INDUCTOR, Symptom.CRASH, failing=LADDER[4], passing=LADDER[3])
    walk = SimpleNamespace(evidence=seen, seen=seen, failed_besides=frozenset())
    findings = Findings(None, None, (), walk, workarounds=tuple(each.text for each in cures), cures=cures)
    assert workaround_texts(findings, found) == (cures[1].text,)
    walk.failed_besides = frozenset(names)  # by rounding alone, before what is told was found
    assert workaround_texts(findings, found) == ()


def test_what_the_script_was_run_with_is_told_apart_from_what_the_reproducer_was() -> None:
    report = REPORT
    (_, script), (alone_by, alone) = workarounds(report)
    assert script == ('torch.compile(..., backend="aot_eager")',)  # the ways round tell of the other one
    assert alone == (MODE.text, 'torch.compile(..., backend="eager")') and "reproducer alone" in alone_by
    ways = ("Compile without the option `a` (train.py:3)", "Compile without `options=` (train.py:3)")
    several = replace(
        report,
        workarounds=(OPTION.text, WHOLE.text, "`torch.compile(...)` without the option `b`"),
        ways_round=tuple(WayRound(change, "argument") for change in ways),
    )
    assert [texts for _, texts in workarounds(several)] == [several.workarounds[2:]]
    (_, unreduced), *more = workarounds(replace(report, reproducer=None))
    assert not more and unreduced == tuple(text for text in report.workarounds if text != TUNED.text)
    assert workarounds(replace(report, workarounds=())) == []


def test_the_terminal_begins_with_what_the_script_was_run_with(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    show_result(RunResult(replace(REPORT, ways_round=()), tmp_path, 0), quiet=False, as_json=False)
    told = [line.split(maxsplit=2)[2] for line in capsys.readouterr().out.splitlines() if "workaround" in line]
    assert "aot_eager" in told[0] and "the reproducer" not in told[0]
    assert "reduce-overhead" in told[1]


@pytest.mark.parametrize("cost", ["nothing is compiled any more", "a step takes 4.1 ms; uncompiled not measured"])
def test_the_terminal_says_which_way_round_leaves_nothing_compiled(
    cost: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    way = WayRound("Decorate `f`", "function", cost=cost)
    show_result(RunResult(replace(REPORT, ways_round=(way,)), tmp_path, 0), quiet=False, as_json=False)
    assert ("nothing is compiled" in capsys.readouterr().out) is (cost == "nothing is compiled any more")


@pytest.mark.parametrize(("numbers", "shown"), [(20, True), (5000, False)])
def test_a_reproducer_full_of_numbers_does_not_fill_the_terminal(
    numbers: int, shown: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "repro.py").write_text(f"x = torch.tensor({[0.125] * numbers})\n")
    show_result(RunResult(REPORT, tmp_path, 0), quiet=False, as_json=False)
    told = capsys.readouterr().out
    assert ("0.125" in told) is shown and "reproducer" in told
