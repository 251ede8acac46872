"""The answers of a sweep on disk."""

import sqlite3
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.judge.signature import FailureSignature
from triage.model.accuracy import Wrongness
from triage.model.stage import OutcomeKind
from triage.model.sweep import Fate
from triage.sweep.facts import Answer, Facts
from triage.sweep.store import NAME, Store

SIGNATURE = FailureSignature(OutcomeKind.WRONG_RESULT, "WrongResult", "", wrong=Wrongness("nan", "output 0"))
FACTS = Facts(Fate.FAILS, True, "inductor", "wrong_result", signature=SIGNATURE, rungs=(("eager", "ok"),))


def test_an_answer_is_there_after_the_process_is_gone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.enrol("a.py", 0, "1", "runs/a") == "runs/a"
    store.answer("a.py", "screen", Answer(5, 1.5, FACTS))
    store.answer("a.py", "whole", Answer(None, 9.0, None, "it had not ended"))
    store.close()
    store = Store(tmp_path)
    assert store.enrol("a.py", 3, "1", "runs/a") == "runs/a"
    assert store.answers("a.py") == {
        "screen": Answer(5, 1.5, FACTS),
        "whole": Answer(None, 9.0, None, "it had not ended"),
    }
    store.close()


def test_a_job_that_changed_is_asked_anew_in_another_directory(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.enrol("a.py", 0, "1", "runs/a")
    store.answer("a.py", "screen", Answer(5, 1.5, FACTS))
    again = store.enrol("a.py", 0, "2", "runs/a")
    assert again != "runs/a"
    assert store.answers("a.py") == {}
    assert store.enrol("a.py", 0, "2", "runs/a") == again
    assert store.enrol("a.py", 0, "1", "runs/a") not in ("runs/a", again)
    store.close()


def test_forgotten_answers_come_from_no_earlier_directory(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.enrol("a.py", 0, "1", "runs/a")
    store.answer("a.py", "screen", Answer(5, 1.5, FACTS))
    store.forget()
    assert store.enrol("a.py", 0, "1", "runs/a") != "runs/a"
    assert store.answers("a.py") == {}
    store.close()


def test_one_sweep_at_a_time(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(UsageError):
        Store(tmp_path)
    store.close()
    Store(tmp_path).close()


@pytest.mark.parametrize("what", ["no database", "another version"])
def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, what: str) -> None:
    if what == "no database":
        (tmp_path / NAME).write_text("my notes" * 1000)
    else:
        store = Store(tmp_path)
        store.note("version", 99)
        store.close()
    with pytest.raises(UsageError):
        Store(tmp_path)


def test_a_reader_sees_what_was_written_while_the_sweep_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.enrol("a.py", 0, "1", "runs/a")
    store.answer("a.py", "screen", Answer(1, 2.0, None))
    reader = sqlite3.connect(f"file:{tmp_path / NAME}?mode=ro", uri=True)
    assert reader.execute("SELECT name, code FROM answers").fetchall() == [("a.py", 1)]
    reader.close()
    store.close()


def test_what_failed_is_known_after_its_answers_are_forgotten(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for name, fate in {"fails.py": Fate.FAILS, "script.py": Fate.SCRIPT, "fine.py": Fate.PASSES}.items():
        store.enrol(name, 0, "1", f"runs/{name}")
        store.answer(name, "screen", Answer(0, 1.5, Facts(fate, True, "none", "none")))
    assert not store.failed_before("fails.py")  # it is still known how
    store.enrol("fails.py", 0, "changed", "runs/fails.py")
    store.forget()
    assert [store.failed_before(name) for name in ("fails.py", "script.py", "fine.py")] == [True, True, False]
    store.close()


def test_what_stands_in_the_way_of_a_sweep_is_said(tmp_path: Path) -> None:
    store = Store(tmp_path / "sweep")
    with pytest.raises(UsageError) as used:
        Store(tmp_path / "sweep")
    store.close()
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as taken:
        Store(tmp_path / "file")
    assert (used.value.why, taken.value.why) == ("Another sweep is using it.", "File exists.")


def test_a_disk_that_is_full_is_no_bug_of_ours_and_costs_no_answer(tmp_path: Path) -> None:
    """SQLite says the same of a database that may not grow."""
    store = Store(tmp_path)
    for name in ("a.py", "b.py"):
        store.enrol(name, 0, "1", f"runs/{name}")
    store.answer("a.py", "screen", Answer(5, 1.5, FACTS))
    pages = store._database.execute("PRAGMA page_count").fetchone()[0]
    store._database.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UsageError, match="database or disk is full") as told:
        store.answer("b.py", "screen", Answer(5, 1.5, None, "x" * 200_000))
    assert f"--resume {tmp_path}" in told.value.next
    store.close()
    assert Store(tmp_path).answers("a.py") == {"screen": Answer(5, 1.5, FACTS)}
