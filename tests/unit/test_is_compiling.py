"""A program that asks whether it is compiled: on which lines, and what is said of it where that is what fails."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import pytest

from triage.agent import boot
from triage.locate.conclude import Conclusion
from triage.model.stage import OwnFault, Stage, Symptom
from triage.probe.notes import agent_notes
from triage.stories.known_cause import cause_of

torch = pytest.importorskip("torch")
boot.load_agent()
is_compiling = importlib.import_module(f"{boot.PACKAGE}.hooks.is_compiling")
recorder = importlib.import_module(f"{boot.PACKAGE}.hooks.recorder")


def test_the_lines_that_ask_are_told_once_each(tmp_path: Path) -> None:
    said: list[dict[str, str]] = []
    channel = types.SimpleNamespace(
        directory=str(tmp_path), say=lambda kind, **facts: said.append({"e": kind, **facts})
    )
    watched = recorder.Recorder(channel, {"as_compiled": True})
    asked = types.SimpleNamespace(is_compiling=lambda: False)
    is_compiling.patch(asked, watched)
    assert not asked.is_compiling()  # outside of what is compiled
    watched.enter("calls")
    answers = [asked.is_compiling() for _ in range(3)]
    line = sys._getframe().f_lineno - 1
    assert answers == [True, True, True] and agent_notes(said).asked_if_compiled == (f"test_is_compiling.py:{line}",)


def test_they_are_named_where_its_own_branch_fails() -> None:
    found = Conclusion(
        Stage.SCRIPT, Symptom.WRONG_RESULT, own_fault=OwnFault.OWN_BRANCH, asked_at=("patches.py:9", "model.py:3")
    )
    cause = cause_of(found, None, ())
    assert cause.id == "own_branch_for_compiled_runs"
    assert cause.explanation.startswith("The program asks torch in patches.py:9, model.py:3 whether it is compiled")
