"""Going on with an earlier run: what its journal tells is not asked again, and what it does not tell is."""

import json
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Verdict
from triage.probe.run import Probe, ProbeRequest
from triage.probe.target import Target
from triage.session.events import Emitter, Journal
from triage.session.settings import Settings
from triage.stories import resume
from triage.stories.resume import earlier_run
from triage.trial.driver import digest


def journal(directory: Path, *words: str) -> Emitter:
    emit = Emitter(Journal(directory / "journal.jsonl"))
    emit("run_started", directory="x", command=list(words), python="/p", cwd=directory, settings=Settings(budget=9))
    return emit


def test_probes_and_verdicts_are_what_they_were(tmp_path: Path) -> None:
    outcome = Outcome(OutcomeKind.EXCEPTION, 2.5, 1, exception=RaisedException("TypeError", "bad operand"))
    known = Probe("as_is", None, outcome, signature_of(outcome), AgentNotes(True), Path("a.log"), (Path("g.json"),))
    emit = journal(tmp_path, "train.py", "--epochs", "3")
    emit("probe_facts", probe=known)
    emit("query", digest=digest("inductor", "x = 1\n"), verdict="same_failure")
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write('{"kind": "query", "digest": "torn')

    found = earlier_run(tmp_path)

    assert found.words == (None, False, ["train.py", "--epochs", "3"])
    assert found.settings["budget"] == 9
    assert dict(found.verdicts) == {digest("inductor", "x = 1\n"): Verdict.SAME_FAILURE}
    assert digest("eager", "x = 1\n") not in found.verdicts
    request = ProbeRequest("as_is", Target("python", ("python", "x.py"), tmp_path), None, 10.0, tmp_path)
    assert found.run_probe(request) == known


@pytest.mark.parametrize(
    ("timeout", "late", "asked_again"),
    [(20.0, False, False), (300.0, False, True), (50.0, True, False), (300.0, True, True)],
)
def test_what_hung_is_asked_again_where_it_is_given_more_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, timeout: float, late: bool, asked_again: bool
) -> None:
    hung = Outcome(OutcomeKind.HANG, 20.1, -15, detail="no compilation had begun", late=late)
    known = Probe("as_is", None, hung, signature_of(hung), AgentNotes(True), Path("a.log"))
    journal(tmp_path, "train.py")("probe_facts", probe=known)
    asked: list[ProbeRequest] = []
    monkeypatch.setattr(resume, "run_probe", lambda request, cancel: asked.append(request))
    request = ProbeRequest("as_is", Target("python", ("python", "x.py"), tmp_path), None, timeout, tmp_path)
    found = earlier_run(tmp_path).run_probe(request)
    assert asked == ([request] if asked_again else []) and (found == known) is not asked_again


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["-m", "pkg.train", "-v"], ("pkg.train", False, ["-v"])),
        (["--", "torchrun", "x.py"], (None, True, ["torchrun", "x.py"])),
    ],
)
def test_the_command_is_read_as_it_was_typed(tmp_path: Path, command: list[str], words: tuple[object, ...]) -> None:
    journal(tmp_path, *command)
    assert earlier_run(tmp_path).words == words


@pytest.mark.parametrize("text", [None, "", json.dumps({"kind": "run_started", "command": []}) + "\n"])
def test_what_is_no_run_says_so(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "journal.jsonl").write_text(text)
    with pytest.raises(UsageError, match="gone on with"):
        earlier_run(tmp_path)
