"""Whole reports, letter by letter. `TRIAGE_UPDATE_GOLDEN=1 pytest` writes them anew; then read them as a maintainer would."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triage.report.redact import Redactor
from triage.report.store import FILES, render_again

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = sorted(place.parent.name for place in GOLDEN.glob("*/report.json"))


def test_there_are_goldens() -> None:
    assert {"inductor_exception", "script_stage", "nondeterministic", "incomplete"} <= set(CASES)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("fmt", FILES)
def test_an_earlier_run_renders_the_same_again(case: str, fmt: str) -> None:
    text = render_again(GOLDEN / case, fmt, Redactor())
    expected = GOLDEN / case / FILES[fmt]
    if os.environ.get("TRIAGE_UPDATE_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")
