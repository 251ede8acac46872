"""An operation whose fake result is not eager's makes others fail; a stand-in for a compiler believes one. No torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from stand_ins import BOOM, PASSED, Questions, Runner, inquiry, result

from triage.culprit.fake_results import FILE, FakeWrong, fake_wrong
from triage.judge.judgement import CandidateResult
from triage.locate.conclude import Conclusion
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.report import ReportSignature, ReportVerdict, TriageReport
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.report.titles import title
from triage.stories.spots import Files, guilty_lines

SOURCE = "import torch\nf(x)\n"
PLAIN = {"size": [2, 3], "stride": [1, 2], "dtype": "float32", "device": "cpu", "of": None, "offset": 0}
COPYSIGN = FakeWrong("aten.copysign", "strides", "(3, 1)", "(1, 2)")


def call(operation: str = "aten.copysign.Tensor", **fake: Any) -> dict[str, Any]:
    return {"operation": operation, "given": ["1"], "real": [PLAIN], "fake": [PLAIN | fake]}


STRIDES, OTHER = call(stride=[3, 1]), call("aten.mish.default", stride=[3, 1])


class Compiler(Runner):
    """Is wrong where an operation of `believed` is not mended; `written` is what the run without a compiler tells."""

    def __init__(self, written: Sequence[dict[str, Any]], believed: Sequence[str] = ("aten.copysign",)) -> None:
        super().__init__(lambda source, rung: BOOM if any(each not in source for each in believed) else PASSED)
        self.written = written

    def run_telling(
        self, source: str, files: Sequence[str], *, rung: str | None = None, timeout: float = 60.0
    ) -> tuple[CandidateResult, Mapping[str, str]]:
        assert "fakes.measure()" in source and rung == "uncompiled"
        return result(PASSED), {FILE: "".join(json.dumps(each) + "\n" for each in self.written) + '{"cut'}


def test_the_operation_whose_strides_are_not_eagers_is_told_where_eagers_in_their_place_pass() -> None:
    assert fake_wrong(SOURCE, inquiry(Compiler([STRIDES]))) == COPYSIGN
    assert fake_wrong(SOURCE, inquiry(Compiler([OTHER, STRIDES]))) == COPYSIGN, "not one that changes nothing"


@pytest.mark.parametrize(
    ("fake", "kind", "told"),
    [
        ({"size": [2, 4]}, "shape", "shape (2, 4), eager (2, 3)"),
        ({"size": [2], "stride": [1]}, "shape", "shape (2,), eager (2, 3)"),
        ({"dtype": "float64"}, "dtype", "dtype float64, eager float32"),
        ({"of": 1}, "aliasing", "the memory of an input, eager memory of its own"),
    ],
)
def test_what_differs_is_told(fake: dict[str, Any], kind: str, told: str) -> None:
    found = fake_wrong(SOURCE, inquiry(Compiler([call(**fake)])))
    assert (found.kind, found.facts()) == (kind, told)


@pytest.mark.parametrize(
    ("written", "believed"),
    [
        ([], ["aten.copysign"]),
        ([OTHER], ["aten.copysign"]),  # it fails with eager's result too
        ([STRIDES], []),  # it passes where nothing is mended
        ([OTHER, STRIDES], ["aten.copysign", "aten.mish"]),  # no one of them is enough
    ],
)
def test_nobody_is_blamed_without_a_run_that_shows_it(written: list[dict[str, Any]], believed: list[str]) -> None:
    assert fake_wrong(SOURCE, inquiry(Compiler(written, believed))) is None


def test_nothing_is_asked_without_time() -> None:
    compiler = Compiler([STRIDES])
    assert fake_wrong(SOURCE, inquiry(compiler, budget=Questions(0))) is None and not compiler.asked


def test_the_title_tells_what_the_compiler_believed_before_what_fails() -> None:
    report = TriageReport(
        tool={},
        command=(),
        verdict=ReportVerdict(Symptom.EXCEPTION, Stage.DYNAMO),
        signature=ReportSignature("TorchRuntimeError", "Cannot view it"),
        fake_wrong=asdict(COPYSIGN),
    )
    told = "fake kernel gives strides (3, 1), eager (1, 2), then TorchRuntimeError: Cannot view it"
    assert title(report) == f"[dynamo] `aten.copysign`: {told}"


@pytest.mark.parametrize("operation", ["copysign", "copy_sign_forward"])
def test_a_call_of_it_before_the_line_that_fails_is_guilty_first(operation: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import torch\n\ndef step(x, y):\n    z = torch.copysign(x, y)\n    return z.view(-1)\n")
    frame = Frame(str(script), 5, "step")
    error = RaisedException("E", "m", (frame,), user_code=(frame,))
    found = SimpleNamespace(
        target=SimpleNamespace(cwd=tmp_path, script=script, python="python"),
        walk=SimpleNamespace(seen={"eager": [SimpleNamespace(notes=AgentNotes(raised=(error,)))]}),
        cases=(), diverging=None, first_wrong=None, given_wrong=None, reproduced=None,
        fake_wrong=replace(COPYSIGN, operation=f"aten.{operation}"),
    )  # fmt: skip
    conclusion = Conclusion(Stage.DYNAMO, Symptom.EXCEPTION, None, Outcome(OutcomeKind.EXCEPTION, exception=error))
    spots = guilty_lines(found, conclusion, Files(found))
    assert [(spot.line, spot.names) for spot in spots] == [(4, (operation,)), (5, ())]
