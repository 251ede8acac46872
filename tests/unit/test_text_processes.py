"""Of several processes of a program: whose calls are taken, and what the others add."""

from typing import Any

from triage.reduce.text.watching.tracing import united


def process(began: float, main: str = "train.py", **facts: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "began": began,
        "rank": None,
        "main": [main, None],
        "argv": [main],
        "lines": {},
        "modules": {},
    }
    return {**told, "origins": {}, "calls": [], "moments": [], "files": [], **facts}


def call(at: int) -> dict[str, Any]:
    return {"at": at, "args": f"x{at}"}


LAUNCHER = process(
    1.0, lines={"train.py": [1, 20]}, modules={"__main__": ["train.py", False], "cli": ["cli.py", False]}
)
WORKER = process(
    2.0, lines={"train.py": [1, 5]}, modules={"__main__": ["train.py", False]}, calls=[call(1)], files=["a"]
)


def test_the_process_that_failed_tells_the_calls_and_all_tell_lines() -> None:
    found = united([LAUNCHER, WORKER], 1)
    assert found["calls"] == [call(1)]
    assert found["lines"] == {"train.py": [1, 5, 20]}
    assert set(found["modules"]) == {"__main__", "cli"} and found["files"] == ["a"]


def test_of_several_that_were_called_the_failing_call_and_rank_count() -> None:
    other = process(1.5, calls=[call(3)])
    ranks = [process(1.6, calls=[call(2)], rank=0), process(1.7, moments=[call(2)], rank=1, argv=["second"])]
    assert united([other, *ranks], 2) == united([other, *ranks], 2, rank=0) != united([other, *ranks], 2, rank=1)
    found = united([other, *ranks], 2, rank=1)
    assert found["argv"] == ["second"]


def test_a_call_that_could_not_be_written_is_none() -> None:
    found = united([process(1.0, calls=[{"at": 1, "why": "a Tensor"}]), WORKER], 1)
    assert found["calls"] == [call(1)]


def test_a_process_of_another_script_adds_nothing_but_lines() -> None:
    starter = process(1.0, "start.py", lines={"start.py": [1]}, modules={"__main__": ["start.py", False]})
    found = united([starter, WORKER], 1)
    assert found["main"] == ["train.py", None] and found["modules"] == WORKER["modules"]
    assert set(found["lines"]) == {"start.py", "train.py"}


def test_where_nothing_was_called_the_first_that_executed_something_counts() -> None:
    found = united([process(0.5, "torchrun"), LAUNCHER, process(3.0, "later.py", lines={"later.py": [1]})], 0)
    assert found["main"] == ["train.py", None]
    assert united([], 1) is None
