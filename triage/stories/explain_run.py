"""One run of the program that `triage explain` makes: what all of them are asked, how they are told of, and why one failed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triage.judge.naming import first_words, headline
from triage.judge.skeleton import short_type
from triage.model.outcome import Outcome
from triage.model.text import clip
from triage.probe.events import Event, events_in
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.target import Target
from triage.session.session import Session


def request_for(session: Session, target: Target, name: str, caches: Path | None = None, **asked: Any) -> ProbeRequest:
    """The request of such a run: what is timed writes no logs. `caches` are torch's, kept for the next; else it has its own."""
    kept = {} if caches is None else {"TORCHINDUCTOR_CACHE_DIR": caches, "TRITON_CACHE_DIR": caches / "triton"}
    asked = {"rung": None, "timeout": session.probe_timeout(), **asked}
    return ProbeRequest(
        name,
        target,
        directory=session.directory,
        neutral=session.neutral,
        verbose_logs=False,
        extra_env={variable: str(folder) for variable, folder in kept.items()},
        **asked,
    )


def announced(session: Session, request: ProbeRequest, rung: str) -> Probe:
    """Run it; listeners are told of it as a run on this rung."""
    session.emit("probe_started", name=request.name, rung=rung, timeout=request.timeout)
    probe = run_probe(request, session.cancel)
    session.emit("probe_ended", name=request.name, rung=rung, **how_it_ended(probe.outcome))
    return probe


def events_of(session: Session, name: str) -> list[Event]:
    """What the agent told of such a run, by its name."""
    return events_in(session.directory / "logs" / f"{name}.events.jsonl")


def how_it_ended(outcome: Outcome) -> Mapping[str, object]:
    """How a run ended, as listeners are told."""
    error = outcome.innermost
    facts = {"exception": short_type(error.type), "message": first_words(error.message)} if error is not None else {}
    return {"outcome": outcome.kind, "signal": outcome.signal, "seconds": round(outcome.seconds, 2), **facts}


def failure_of(outcome: Outcome) -> str | None:
    """Why it failed, in few words; None where it did not."""
    if not outcome.failed:
        return None
    inner = outcome.innermost
    if inner is None:
        return outcome.detail or outcome.kind.value
    return clip(headline(inner.type, first_words(inner.message)), 200)
