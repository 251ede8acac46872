"""What was found of a graph that is wrong, for when its conclusion falls and is come to again.

Where the script disagrees with its graph, everything found is dropped. If the script then turns out to fail by rounding, the
value that is wrong behind that is looked for, and may be the one that was reduced already: it is not reduced once more.
"""

from __future__ import annotations

from dataclasses import replace

from triage.model.text import words
from triage.reduce.interface import Problem
from triage.stories.attempts import CHECK_NOTE, VALUE_NOTE
from triage.stories.findings import Findings, GivenUp
from triage.trial.driver import digest

# What a reduction and the questions about its reproducer fill in.
_FOUND = words(
    "reproduced ablation workarounds cures spellings conditions indifferent subsystem lowered first_wrong diverging given_wrong "
    "fake_wrong conversion raised_by_eager"
)


def _question(found: Findings, problem: Problem) -> tuple[object, ...] | None:
    """The text of the whole graph that is wrong, in which way, and from which rung on; None where no graph answered."""
    wrong = problem.signature.wrong
    if found.graph_answer is None or not found.walk.on_graph or wrong is None:
        return None
    graph = digest(found.graph_answer.problem.rung, found.graph_answer.source)
    return graph, wrong, problem.rung, problem.passing, problem.own_rung, problem.stage


def keep(found: Findings, problem: Problem) -> None:
    """Keep what is known of a reproducer that was verified."""
    question = _question(found, problem)
    if question is not None and found.reproduced is not None and found.reproduced.verified:
        found.given_up = GivenUp(question, {name: getattr(found, name) for name in _FOUND})


def recall(found: Findings, problem: Problem) -> bool:
    """Take what is known of this very question; whether anything is. No check of the script's own is told of any more."""
    if found.given_up is None or found.given_up.question != _question(found, problem):
        return False
    for name, value in found.given_up.found.items():
        setattr(found, name, value)
    made = found.reproduced
    assert made is not None
    found.reproduced = replace(made, notes=tuple(note for note in made.notes if note not in (CHECK_NOTE, VALUE_NOTE)))
    found.session.emit("engine_step", text="the same graph is wrong in the same way: its reproducer is known")
    return True
