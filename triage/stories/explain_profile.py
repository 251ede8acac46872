"""`triage explain --profile`: a warmed-up step of the program, uncompiled and as the program has it, through the profiler."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from triage.explain.modes import AS_IT_IS, MODES, Mode
from triage.explain.profile import outside, parts_of, profile_of, step_of
from triage.model.explanation import Explanation, ProfiledStep
from triage.probe.events import Event
from triage.probe.target import Target
from triage.session.session import Session
from triage.stories.explain_run import events_of, failure_of
from triage.stories.turns import NOT_READY, PROFILE, STOP, in_turns

FOLDER = "profile"  # of the run directory, with the traces
STEPS = 7  # that are profiled, one by one; the first one, in which the profiler itself warms up, is not counted


def profiled(session: Session, target: Target, found: Explanation, marks: Mapping[Path, bytes]) -> Explanation:
    """The explanation with the profile, or with the reason why there is none. `marks` has the function that is the step."""
    (session.directory / FOLDER).mkdir(exist_ok=True)
    with session.timed("profile"), tempfile.TemporaryDirectory(prefix="triage-turns-") as folder:
        uncompiled = _step(session, target, MODES[0], marks, Path(folder))
        compiled = _step(session, target, AS_IT_IS, marks, Path(folder))
    if isinstance(uncompiled, str) or isinstance(compiled, str):
        return replace(found, profile_note=uncompiled if isinstance(uncompiled, str) else str(compiled))
    (before, _), (after, events) = uncompiled, compiled
    return replace(found, profile=profile_of(before, after), outside=outside(parts_of(events), after.seconds))


def _step(
    session: Session, target: Target, mode: Mode, marks: Mapping[Path, bytes], folder: Path
) -> tuple[ProfiledStep, list[Event]] | str:
    """The profiled steps of the program in this mode, or why there are none."""
    name = f"profile-{mode.slug}"
    trace = f"{FOLDER}/{mode.slug}.json"
    with in_turns(session, target, marks, folder / mode.slug, 1) as turns:
        process = turns.start(mode, 0, name, profile=session.directory / trace)
        turns.wait(process, NOT_READY)
        for number in range(STEPS):
            if not turns.is_ready(process):
                break
            session.emit("engine_step", text=f"profiling {mode.name}: step {number + 1} of {STEPS}")
            turns.give(process, PROFILE)
            turns.wait(process, "the profiled step had not ended")
        turns.give(process, STOP)
        probe, late = turns.ended(process), process.late
    events = events_of(session, name)
    counted = [event for event in events if event.get("e") == "profiled"][1:]
    step = step_of(counted, mode.name, trace)
    if step is None:
        why = late or failure_of(probe.outcome) or "it made no call of a compiled function that could be repeated"
        return f"There is no profile of the program, {mode.name}: {why}."
    return step, counted
