"""A checkpoint of a compiled model that is loaded with `strict=False`: its keys are passed over in silence."""

from __future__ import annotations

import importlib
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from triage.agent import boot
from triage.locate.conclude import Conclusion
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind, OwnFault, Stage, Symptom
from triage.probe.notes import agent_notes
from triage.probe.run import Probe
from triage.stories.headline import summary_sentence
from triage.stories.known_cause import cause_of

torch = pytest.importorskip("torch")
boot.load_agent()
wrapped_keys = importlib.import_module(f"{boot.PACKAGE}.hooks.wrapped_keys")
FAILED = Outcome(
    OutcomeKind.EXCEPTION, exception=RaisedException("AssertionError", "the metric is another one", phase="uncaught")
)


def first(notes: AgentNotes) -> Probe:
    return Probe("as_is", None, FAILED, None, notes, Path("none"))


def said_of(state: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    channel = types.SimpleNamespace(say=lambda kind, keys: said.extend(keys))
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", torch.nn.Module.load_state_dict)
    wrapped_keys.watch(torch, types.SimpleNamespace(channel=channel))
    wrapped_keys.watch(torch, types.SimpleNamespace(channel=channel))  # once is enough
    torch.nn.Linear(2, 2).load_state_dict(state, strict=False)
    return said


def test_keys_that_differ_by_the_prefix_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    state = torch.nn.Linear(2, 2).state_dict()
    assert said_of({f"_orig_mod.{key}": value for key, value in state.items()}, monkeypatch) == [
        "_orig_mod.weight",
        "_orig_mod.bias",
    ]


@pytest.mark.parametrize("prefix", ["", "encoder."])
def test_others_are_not(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = torch.nn.Linear(2, 2).state_dict()
    assert said_of({prefix + key: value for key, value in state.items()}, monkeypatch) == []


def test_they_are_the_known_cause_where_the_script_fails_uncompiled_too() -> None:
    notes = agent_notes([{"e": "orig_mod_keys", "keys": ["_orig_mod.weight"]}])
    assert notes.orig_mod_keys == ("_orig_mod.weight",)
    cause = cause_of(Conclusion(Stage.SCRIPT, Symptom.WRONG_RESULT, outcome=FAILED), first(notes), ())
    assert cause.id == "orig_mod_keys"
    other = Conclusion(Stage.INDUCTOR, Symptom.WRONG_RESULT, outcome=FAILED, settled=True)
    assert cause_of(other, first(notes), ()) is None


def test_a_module_that_is_still_wrapped_is_no_program_without_torch_compile() -> None:
    from triage.judge.signature import signature_of

    found = Conclusion(Stage.SCRIPT, Symptom.EXCEPTION, signature_of(FAILED), FAILED)
    wrapped, plain = (replace(found, own_fault=fault) for fault in (OwnFault.WRAPPED, OwnFault.UNCOMPILED))
    assert "the module is still wrapped by torch.compile" in summary_sentence(wrapped, first(agent_notes([])), None)
    assert "also fails without torch.compile" in summary_sentence(plain, first(agent_notes([])), None)
    assert agent_notes([{"e": "compile_call", "wraps": True}]).wraps_module
