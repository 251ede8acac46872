"""Wrong results that no program notices, with real torch: found where they are, and nobody else is blamed."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from accuracy_programs import (
    HEALTHY,
    MASKED_GRADIENT,
    NAMED,
    OTHER_NUMBERS,
    RELU,
    RELU_UNDER_NOISE,
    WRONG,
    WRONG_GRADIENT,
)
from command import Command

from triage.model.accuracy import Comparison
from triage.model.stage import OutcomeKind
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.target import Target
from triage.session.session import neutral_store
from triage.stories.headline import not_compared_words

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def compared(
    folder: Path, source: str, rung: str | None = None, capture: bool = False
) -> tuple[Probe, list[dict[str, Any]]]:
    """A probe that compares everything, and all that it found wrong."""
    (folder / "train.py").write_text(source)
    request = ProbeRequest(
        "p", Target(sys.executable, (sys.executable, "train.py"), folder), rung, 600.0, folder / "run",
        capture=capture, accuracy=Comparison(gradients=True, seconds=400), extra_env={"OMP_NUM_THREADS": "1"}, verbose_logs=False,
        neutral=neutral_store(),
    )  # fmt: skip
    probe = run_probe(request)
    events = map(json.loads, (folder / "run" / "logs" / "p.events.jsonl").read_text().splitlines())
    return probe, [event["result"] for event in events if event["e"] == "wrong"]


def check_healthy(folder: Path, rung: str) -> None:
    probe, wrong = compared(folder, HEALTHY, rung)
    assert probe.outcome.exit_code == 0, probe.log.read_text()[-3000:]
    assert wrong == [] and probe.outcome.kind is OutcomeKind.OK
    assert probe.notes.compared >= 20 and probe.notes.not_compared == ()


def test_healthy_programs_are_not_blamed(tmp_path: Path) -> None:
    check_healthy(tmp_path, "aot_eager_decomp_partition")


@pytest.mark.slow
def test_healthy_programs_are_not_blamed_on_inductor(tmp_path: Path) -> None:
    check_healthy(tmp_path, "inductor")


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_every_way_to_be_wrong_is_found(tmp_path: Path, number: int) -> None:
    source, expected = WRONG[number]
    probe, wrong = compared(tmp_path, source)
    assert probe.outcome.exit_code == 0, probe.log.read_text()[-3000:]
    assert [(result["item"], result["kind"]) for result in wrong] == expected
    values = [result for result in wrong if result["kind"] == "values"]
    assert all(result["compiled_error"] > 10 * result["eager_error"] for result in values)
    assert probe.notes.wrong is not None and probe.outcome.kind is OutcomeKind.WRONG_RESULT


def test_what_random_numbers_hide_is_told(tmp_path: Path) -> None:
    probe, wrong = compared(tmp_path, OTHER_NUMBERS)
    assert probe.outcome.exit_code == 0, probe.log.read_text()[-3000:]
    assert wrong == [] and probe.notes.unsteady == ()
    inductors, kernels = probe.notes.by_chance
    assert inductors == "output 0 of graph 0/0 (of randn_like, which compiled code draws in another way)"
    assert kernels == "output 0 of graph 1/0 (eager gives another value each time, from the same seed as well)"
    said = not_compared_words(probe.notes)
    assert said.startswith(
        "the random numbers that eager and compiled draw are not the same for output 0 of graph 0/0 ("
    )


def test_gradients_are_compared_under_those_that_the_program_sends_back(tmp_path: Path) -> None:
    probe, wrong = compared(tmp_path, MASKED_GRADIENT, capture=True)
    assert probe.outcome.exit_code == 0, probe.log.read_text()[-3000:]
    assert {(result["item"], result["direction"]) for result in wrong} == {
        ("gradient of net.weight", "backward"),
        ("gradient of net.bias", "backward"),
    }
    case = json.loads(next((tmp_path / "run" / "graph").rglob("graph-wrong-1-dynamo.json")).read_text())
    (arrived,) = [item for item in case["inputs"] if item["role"] == "gradient"]
    assert arrived["gradient_of"] == case["outputs"][0]["ref"]
    assert arrived["data"][0] == [0.0] * 8 and all(arrived["data"][1])


@pytest.mark.quick
def test_a_wrong_gradient_is_located(tmp_path: Path) -> None:
    command = Command(tmp_path)
    done = command("run", "--out", "out", "--no-reduce", "--jobs", "1", command.script(WRONG_GRADIENT))
    report = command.report()
    assert done.returncode == 0
    assert (report["verdict"]["symptom"], report["verdict"]["stage"]) == ("wrong_result", "decomp_partition")
    assert report["verdict"]["direction"] == "backward"
    assert report["accuracy"]["item"] == "gradient of net.weight"
    assert report["accuracy"]["compiled_error"] > 100 * report["accuracy"]["eager_error"]


@pytest.mark.parametrize(
    ("source", "stage"),
    [
        (NAMED, "backend"),
        pytest.param(RELU, "inductor", marks=pytest.mark.slow),
        pytest.param(RELU_UNDER_NOISE, "inductor", marks=pytest.mark.slow),
    ],
)
def test_from_a_script_that_raises_nothing_to_a_reproducer(tmp_path: Path, source: str, stage: str) -> None:
    command = Command(tmp_path)
    process = command.start("run", "--out", "out", command.script(source), TRIAGE_REPRODUCER_ONLY="0")
    process.communicate(timeout=800)
    report = command.report()
    assert process.returncode == 0
    assert (report["verdict"]["symptom"], report["verdict"]["stage"]) == ("wrong_result", stage)
    reproducer = report["reproducer"]
    assert (reproducer["ops"], reproducer["verified"], reproducer["verified_runs"]) == (1, True, 3)
    assert report["culprit"]["op"] == "aten.relu" and report["accuracy"]["first_wrong"].startswith("aten.relu")
    if source == NAMED:  # the graph of the others may have one operation only
        diverging = report["accuracy"]["first_diverging"]
        assert diverging["operation"].startswith("aten.relu") and (diverging["place"], diverging["operations"]) == (
            3,
            4,
        )
