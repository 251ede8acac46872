"""How the clusters of a sweep are held against the truth."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import sweep_size
from sweep import pairs, share, told, write_programs

GOLDEN = Path(__file__).parents[1] / "golden"
BUGS = {"a": "x", "b": "x", "c": "x", "d": "y"}
TRUTH = {name: {"fate": "fails", "stage": "inductor|dynamo", "bug": bug} for name, bug in BUGS.items()}
TRUTH["fine"] = {"fate": "passes", "stage": "none", "bug": ""}


def swept(*clusters: str, stage: str = "inductor", fate: str = "fails") -> dict:
    """A sweep whose clusters are these, each a word of script names."""
    return {
        "clusters": [
            {
                "id": members,
                "members": list(members),
                "known_cause": None,
                "reproducer": "r" if members == "d" else None,
            }
            for members in clusters
        ],
        "results": [
            *({"script": name, "fate": fate, "stage": stage} for name in "abcd"),
            {"script": "fine", "fate": "passes", "stage": "none"},
        ],
        "processes": 9,
        "seconds": 1.0,
    }


def test_pairs_are_of_one_group() -> None:
    assert pairs({"a": "x", "b": "x", "c": "y"}) == {frozenset("ab")}
    assert share(set(), set()) == 1.0


def test_what_is_as_it_is_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(TRUTH, swept("abc", "d"), 1.0) == 0
    said = capsys.readouterr().out
    assert "precision 1.000, recall 1.000" in said
    assert "verified reproducer: 1 of 2" in said


def test_wrongly_joined_and_split_pairs_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(TRUTH, swept("ab", "cd"), 1.0) == 1  # of two pairs one is right; of three pairs of one bug one is found
    said = capsys.readouterr().out
    assert "precision 0.500, recall 0.333" in said
    assert "joined, two bugs: c and d" in said
    assert "split, one bug: a and c" in said


def test_a_wrong_stage_or_fate_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(TRUTH, swept("abc", "d", stage="aot_autograd"), 1.0) == 1
    assert told(TRUTH, swept("abc", "d", fate="passes"), 1.0) == 1
    assert "right: 1 of 5" in capsys.readouterr().out


def test_the_programs_are_written_with_their_truth(tmp_path: Path) -> None:
    truth = write_programs(tmp_path / "programs", 60)
    assert len(truth) == 60
    assert {Path(name).name for name in truth} == {path.name for path in (tmp_path / "programs").iterdir()}
    for path in (tmp_path / "programs").iterdir():
        compile(path.read_text(), path.name, "exec")
    json.dumps(truth)


def test_the_size_of_a_sweep_is_that_of_whole_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    shutil.copyfile(GOLDEN / "inductor_exception" / "report.json", run / "report.json")
    monkeypatch.setattr(sys, "argv", ["sweep_size.py", str(tmp_path), "--scripts", "5"])
    sweep_size.main()
    assert "scripts 5, of 1 reports; clusters 1" in capsys.readouterr().out
