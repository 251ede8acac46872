"""What a run wrote into text files: which files, and their values with the names that they have there."""

import json
import os
import time
from pathlib import Path

import pytest

from triage.judge.lines import Lines, lines_of
from triage.judge.printed import differing
from triage.probe.written import results_written

OLD = 1_000_000.0


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("metrics.json", '{"loss": 0.5, "by": {"class": [1, 2]}}', ["loss: 0.5", "by.class: [1, 2]"]),
        ("all.json", '[{"loss": 0.5}, {"loss": 0.25}]', ["loss: 0.5", "loss: 0.25"]),
        ("named.json", '{"at": "1.50", "on": "True", "of": "run 3"}', ['at: "1.50"', 'on: "True"', "of: run 3"]),
        ("rows.jsonl", '{"loss": 0.5}\nno JSON\n[1]\n', ["loss: 0.5", "no JSON", "[1]"]),
        ("t.csv", "epoch,loss\n0,0.5\n1,0.25\nodd\n", ["epoch: 0", "loss: 0.5", "epoch: 1", "loss: 0.25", "odd"]),
        ("t.tsv", "0.5\t2\n0.25\t3\n", ["0.5, 2", "0.25, 3"]),
        ("out.txt", "loss 0.5\n\n done\n", ["loss 0.5", "done"]),
        ("t.csv", "", []),
        ("weights.pt", "0.5", []),
    ],
)
def test_values_stand_beside_their_names(tmp_path: Path, name: str, text: str, lines: list[str]) -> None:
    (tmp_path / name).write_text(text)
    assert results_written(tmp_path, 0.0).splitlines() == [f"{name}: {line}" for line in lines]


def test_only_what_was_written_to_since_and_is_not_ours(tmp_path: Path) -> None:
    ours = tmp_path / "triage-out" / "train-1"
    for place in (
        "runs/1/metrics.json",
        ".cache/x.json",
        "runs/1/deep/deeper/x.json",
        "old.json",
        "venv/x.json",
        "triage-out/train-1/x.json",
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text('{"loss": 0.5}')
    (tmp_path / "venv/pyvenv.cfg").touch()
    (tmp_path / "linked.json").symlink_to("old.json")
    os.utime(tmp_path / "old.json", (OLD, OLD))
    assert results_written(tmp_path, OLD + 1, ours) == "metrics.json: loss: 0.5"
    assert results_written(tmp_path, time.time() + 60, ours) == ""
    assert results_written(tmp_path / "gone", 0.0) == ""


def test_a_time_in_a_files_name_or_beside_a_value_is_none_of_its_results(tmp_path: Path) -> None:
    told = []
    for day, loss in ((28, 0.5), (29, 0.75)):
        file = tmp_path / f"run-202611{day}.json"
        file.write_text(json.dumps({"loss": loss, "seconds": day, "steps": 3}))
        told.append(lines_of("", "", results_written(tmp_path, 0.0)))
        file.unlink()
    one, other = told
    assert [one[key].text for key in differing(one, other)] == ["loss: 0.5"] and len(one) == 2


def test_a_number_in_the_place_of_a_string_is_a_difference(tmp_path: Path) -> None:
    def told(*values: object) -> Lines:
        (tmp_path / "history.json").write_text(json.dumps([{"at": value, "loss": 0.5} for value in values]))
        return lines_of("", "", results_written(tmp_path, OLD))

    assert len(differing(told("2.00", "1.12"), told("2.00", 1.125))) == 1
    assert differing(told("2.00", "1.12"), told("2.00", "1.125")) == []  # rounding
