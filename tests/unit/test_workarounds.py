"""What is told as a workaround: not what the script was run with and failed, and with what it was run."""

from dataclasses import replace
from pathlib import Path

import pytest

from triage.culprit.settings import Setting, workarounds_of
from triage.culprit.ways_round.changes import Program, of_settings
from triage.culprit.ways_round.source import Source
from triage.model.report import LadderRow, ReportVerdict, Reproducer, TriageReport, WayRound
from triage.model.stage import Stage, Symptom
from triage.report.wording import workarounds

FILE = Path("/program/train.py")
SOURCE = Source('import torch\n\nstep = torch.compile(abs, mode="default")\n')
MODE = Setting("argument", "mode", "reduce-overhead", 'torch.compile(..., mode="reduce-overhead")', 1)
TUNED = Setting("argument", "mode", "max-autotune", 'torch.compile(..., mode="max-autotune")', 1)
WITHOUT = Setting("argument", "mode", None, 'torch.compile(..., mode="default")', 1)
DYNAMIC = Setting("argument", "dynamic", True, "torch.compile(..., dynamic=True)", 1)
CSE = Setting("config", "torch._functorch.config.cse", False, "torch._functorch.config.cse = False", 2)
CURES = (MODE, TUNED, WITHOUT, DYNAMIC, CSE)


@pytest.mark.parametrize("cure", CURES, ids=lambda cure: cure.text)
def test_what_the_script_failed_with_is_no_workaround(cure: Setting) -> None:
    program = Program(lambda path: SOURCE, FILE, {FILE: (3,)})
    (change,) = of_settings(program, [cure])
    kept = workarounds_of([each.text for each in CURES], CURES, [change.words])
    assert kept == tuple(each.text for each in CURES if each is not cure)


def test_what_the_script_was_run_with_is_told_apart_from_what_the_reproducer_was() -> None:
    report = TriageReport(
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
    (_, script), (alone_by, alone) = workarounds(report)
    assert script == (TUNED.text, 'torch.compile(..., backend="aot_eager")')
    assert alone == (MODE.text, 'torch.compile(..., backend="eager")') and "reproducer alone" in alone_by
    assert [texts for _, texts in workarounds(replace(report, reproducer=None))] == [report.workarounds]
    assert workarounds(replace(report, workarounds=())) == []
