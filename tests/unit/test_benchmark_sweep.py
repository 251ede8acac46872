"""How the clusters of a sweep are held against the truth."""

import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest
import sweep_size
from sweep import drawn, failing_programs, pairs, scaled, share, told, write_programs

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
    assert told(TRUTH, swept("abc", "d")) == 0
    said = capsys.readouterr().out
    assert "precision 1.000, recall 1.000" in said
    assert "verified reproducer: 1 of 2" in said


def test_wrongly_joined_and_split_pairs_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(TRUTH, swept("ab", "cd")) == 1  # of two pairs one is right; of three pairs of one bug one is found
    said = capsys.readouterr().out
    assert "precision 0.500, recall 0.333" in said
    assert "joined, two bugs: c and d" in said
    assert "split, one bug: a and c" in said


def test_a_wrong_stage_or_fate_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(TRUTH, swept("abc", "d", stage="aot_autograd")) == 1
    assert told(TRUTH, swept("abc", "d", fate="passes")) == 1
    assert "right: 1 of 5" in capsys.readouterr().out


@pytest.mark.skipif(sys.version_info < (3, 11), reason="one of the programs has an except*")
def test_two_hundred_programs_are_written_with_their_truth(tmp_path: Path) -> None:
    truth = write_programs(tmp_path / "programs", 200, 80)
    assert len(truth) == 200
    faces = Counter(facts["bug"] for facts in truth.values() if facts["fate"] in ("fails", "known_cause"))
    assert 60 <= sum(faces.values()) <= 80
    assert len(faces) >= 25
    assert sum(count > 1 for count in faces.values()) >= 10
    assert {Path(name).name for name in truth} == {path.name for path in (tmp_path / "programs").iterdir()}
    texts = [path.read_text() for path in (tmp_path / "programs").iterdir()]
    assert len(set(texts)) == 200  # no two are one
    for text in texts:
        compile(text, "program", "exec")
    json.dumps(truth)


def test_some_of_the_programs_by_name(tmp_path: Path) -> None:
    truth = write_programs(tmp_path / "programs", 200, 80, ["lerp_", "attention_trained"])
    lerps = [name for name, _, _ in failing_programs() if name.startswith("lerp_")]
    assert {Path(name).stem for name in truth} == {*lerps, "attention_trained"}


def test_what_is_run_alone_is_drawn_from_each_kind_and_scaled_by_it() -> None:
    truth = {f"p{n}": {"fate": "passes"} for n in range(30)} | {f"f{n}": {"fate": "fails"} for n in range(10)}
    names = drawn(truth, 8, seed=1)
    assert sorted(name[0] for name in names) == ["f", "f", "p", "p", "p", "p", "p", "p"]
    assert names == drawn(truth, 8, seed=1)
    assert names != drawn(truth, 8, seed=2)
    assert scaled(truth, {"p1": 10.0, "p2": 10.0, "f1": 50.0, "f2": 50.0}) == (800.0, 0.0)
    total, error = scaled(truth, {"p1": 10.0, "p2": 10.0, "f1": 40.0, "f2": 60.0})
    assert total == 800.0
    assert 50 < error < 100  # ten times the error of a mean of two, 10, less what is known


def test_the_size_of_a_sweep_is_that_of_whole_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    shutil.copyfile(GOLDEN / "inductor_exception" / "report.json", run / "report.json")
    monkeypatch.setattr(sys, "argv", ["sweep_size.py", str(tmp_path), "--scripts", "5"])
    sweep_size.main()
    assert "scripts 5, of 1 reports; clusters 1" in capsys.readouterr().out
