"""A candidate's file is not tokenized for the headers of Dynamo's log: of a table of numbers that takes seconds."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from triage.agent import compat
from triage.agent.warm import candidate


def test_a_candidate_is_known_to_hold_no_names_before_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache: dict[str, dict[int, str]] = {}
    monkeypatch.setitem(sys.modules, "torch._dynamo.funcname_cache", SimpleNamespace(cache=cache))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = str(tmp_path / "repro.py")
    text = "import sys\nassert sys.modules['torch._dynamo.funcname_cache'].cache == {__file__: {}}\n"
    assert candidate._execute(text, file) == 0
    assert cache == {file: {}}


def test_a_release_without_such_a_cache_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch._dynamo.funcname_cache", raising=False)
    compat.leave_unnamed("repro.py")
