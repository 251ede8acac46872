"""A reproducer is run again, and told to be the same failure as that of its run or another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from stand_ins import result

from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.stories import verify

GOLDEN = Path(__file__).parents[1] / "golden" / "inductor_exception"
COMPARES = RaisedException("AssertionError", "eager: 9.0, compiled: 10.0", (Frame("repro.py", 9, "<module>"),))


@pytest.mark.parametrize(
    ("wrong", "same"), [({"kind": "values", "where": "output 0", "sense": ""}, True), (None, False)]
)
def test_the_reproducer_of_a_wrong_value_compares_whatever_the_script_raises_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str] | None, same: bool
) -> None:
    run = tmp_path / "run"
    shutil.copytree(GOLDEN, run)
    tree = json.loads((run / "report.json").read_text())
    assert tree["verdict"]["symptom"] == "exception"
    tree["signature"]["wrong"] = wrong
    (run / "report.json").write_text(json.dumps(tree))
    failed = result(Outcome(OutcomeKind.WRONG_RESULT, 1.0, 1, exception=COMPARES))
    monkeypatch.setattr(verify, "verify", lambda *_, **__: [failed] * 3)
    monkeypatch.setattr(verify, "_check_usable", lambda *_: None)
    assert verify.verify_again(run, None, 3, 9.0).same is same
