"""What is known before it is verified: told at once, marked as such on disk, taken back where it does not hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from triage.cli.view import plain_line
from triage.locate.conclude import Conclusion
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.outcome import Outcome, RaisedException
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.reduce.interface import Reduction
from triage.reduce.text.engine import _without
from triage.session.events import Event
from triage.stories.early import MARK, EarlyNews, named_early, withdraw

NAMED = "LoweringException: AssertionError: \n  target: aten.cumsum.default\n  args[0]: TensorBox(...)"
SOURCE = "import torch\n\nboom()\n"


@dataclass
class Told:
    """As much of the findings as the news need."""

    directory: Path
    cases: tuple[Any, ...] = ()
    events: list[Event] = field(default_factory=list)

    @property
    def session(self) -> Told:
        return self

    def emit(self, kind: str, **facts: Any) -> None:
        self.events.append(Event(kind, facts))


def conclusion() -> Conclusion:
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("InductorError", NAMED))
    return Conclusion(Stage.INDUCTOR, Symptom.EXCEPTION, outcome=outcome, settled=True)


def test_a_reduction_is_on_disk_and_told_before_it_is_verified(tmp_path: Path) -> None:
    found = Told(tmp_path)
    news = EarlyNews(found)
    news.reduced(Reduction(SOURCE, "native", "graph", 1, 3, 1.0, True, True))
    assert (tmp_path / "repro.py").read_text() == MARK + SOURCE
    line = plain_line(found.events[0])
    assert line is not None and line.startswith(
        "reproducer, not verified yet: "
    )  # what the error names need not be in it
    assert line.endswith("repro.py (1 op, 2 lines)")
    news.verified(SOURCE)  # what else is asked of it may take minutes
    assert (tmp_path / "repro.py").read_text() == SOURCE


@pytest.mark.parametrize(
    ("targets", "told"),
    [
        (("clamp",), "reproducer with aten.clamp, not verified yet: "),
        (
            ("clamp", "atan2"),
            "reproducer with aten.clamp, aten.atan2, not verified yet: ",
        ),  # which of them is not known yet
        (
            ("add", "mul", "exp", "log", "sin"),
            "reproducer with aten.add, aten.mul, aten.exp and 2 more, not verified yet: ",
        ),
    ],
)
def test_what_a_reproducer_has_is_told_and_none_of_it_is_blamed(
    tmp_path: Path, targets: tuple[str, ...], told: str
) -> None:
    found = Told(tmp_path)
    nodes = tuple(GraphNode(f"v{number}", "call_function", f"torch.{target}") for number, target in enumerate(targets))
    graph = GraphCase("aten", (), nodes, ())
    EarlyNews(found).reduced(Reduction(SOURCE, "native", "graph", len(nodes), 3, 1.0, True, True, graph=graph))
    line = plain_line(found.events[0])
    assert line is not None and line.startswith(told)


def test_the_first_candidate_that_fails_the_same_way_is_on_disk_and_not_in_the_journal(tmp_path: Path) -> None:
    found = Told(tmp_path)
    news = EarlyNews(found)
    news.emit("reduced", source=SOURCE, lines=2, first=True)
    assert (tmp_path / "repro.py").read_text() == MARK + SOURCE
    assert "source" not in found.events[0].facts
    line = plain_line(found.events[0])
    assert line is not None and line.startswith("fails the same way: 2 lines (") and "not verified yet" in line


def test_a_candidate_that_holds_private_data_is_not_shown(tmp_path: Path) -> None:
    found = Told(tmp_path)
    news = EarlyNews(found)
    _without(news.emit, "source")("reduced", source=SOURCE, lines=2, first=True)
    assert not (tmp_path / "repro.py").exists()
    assert plain_line(found.events[0]) == "fails the same way: 2 lines"


def test_what_did_not_hold_is_taken_back_and_what_holds_is_not(tmp_path: Path) -> None:
    file = tmp_path / "repro.py"
    withdraw(tmp_path)
    file.write_text(SOURCE)
    withdraw(tmp_path)
    assert file.exists()
    file.write_text(MARK + SOURCE)
    withdraw(tmp_path)
    assert not file.exists()


def test_the_operation_that_the_error_names_is_told_with_the_stage() -> None:
    operation = named_early(conclusion())
    facts = {"stage": Stage.INDUCTOR.value, "settled": True, "fails": True, "operation": operation}
    assert plain_line(Event("located", facts)) == "stage: inductor, the error names aten.cumsum.default"


def test_another_door_is_told_with_the_stage() -> None:
    facts = {"stage": "none", "settled": True, "fails": True, "operation": None, "door": "torch.export"}
    assert plain_line(Event("located", facts)) == "fails in torch.export, stage: none"
