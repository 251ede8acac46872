"""What passes brought, read from journals."""

import json
from pathlib import Path

from pass_statistics import gathered, table


def journal(folder: Path, *events: dict[str, object]) -> Path:
    folder.mkdir()
    file = folder / "journal.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events) + '{"kind": "que')
    return file


def test_a_phase_counts_the_runs_in_which_it_paid(tmp_path: Path) -> None:
    begun = {"kind": "engine_started", "subject": "the program's text"}
    asked = {"kind": "query", "phase": "names", "seconds": 2}
    one = journal(tmp_path / "one", begun, asked, asked, {"kind": "reduced", "phase": "names"})
    two = journal(tmp_path / "two", begun, asked)
    found = gathered([one, two])
    phase = found["the program's text", "names"]
    assert (len(phase.runs), len(phase.paid), phase.smaller, phase.candidates, phase.seconds) == (2, 1, 1, 3, 6)
    assert "| the program's text | names | 2 | 1 | 1 | 3 | 6 |" in table(found)


def test_those_that_paid_in_most_runs_come_first(tmp_path: Path) -> None:
    events = [{"kind": "query", "phase": "idle"}, {"kind": "query", "phase": "useful"}]
    text = table(gathered([journal(tmp_path / "run", *events, {"kind": "reduced", "phase": "useful"})]))
    assert text.index("useful") < text.index("idle")
