"""What happens, told to whoever listens. The core is silent: it emits, and views, journals and tests listen."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.environments.files import own
from triage.model.codec import encode


@dataclass(frozen=True)
class Event:
    """One thing that happened. `kind` is a word such as `probe_started`; `facts` are JSON-ready."""

    kind: str
    facts: dict[str, Any]
    time: float = field(default_factory=time.time)


Listener = Callable[[Event], None]


FAILED = "listener_failed"
LAST_EVENTS = ("run_ended", "bisect_ended")


class Emitter:
    """Hands events to listeners, from any thread, one at a time.

    A listener that raises does not end the run, and hears of what comes next; the others are told of it once, as an event
    `listener_failed` with the error and where it was raised.
    """

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = list(listeners)
        self._failed: set[Listener] = set()
        self._lock = threading.RLock()

    def add(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def __call__(self, kind: str, **facts: Any) -> None:  # `kind` is no fact's name: in the journal it is the event's
        event = Event(kind, {name: encode(value) for name, value in facts.items()})
        with self._lock:
            for listener in list(self._listeners):
                try:
                    listener(event)
                except Exception as error:  # noqa: BLE001  a broken view must not end a run
                    self._tell_of(listener, event, error)

    def _tell_of(self, listener: Listener, event: Event, error: Exception) -> None:
        if listener in self._failed:
            return
        self._failed.add(listener)
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        self(FAILED, event=event.kind, error=f"{type(error).__name__}: {error}", place=place)


class Journal:
    """Appends every event to `journal.jsonl`, flushed as it is learned.

    It owns the file until the run has ended, or its process, so that a run that was killed is told from one that goes on.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._owned: weakref.finalize[..., Journal] | None = None

    def __call__(self, event: Event) -> None:
        self._append(event)
        if event.kind in LAST_EVENTS and self._owned is not None:
            self._owned()
            self._owned = None
        elif event.kind not in LAST_EVENTS and self._owned is None and (file := own(self._path)) is not None:
            self._owned = weakref.finalize(self, os.close, file)

    def _append(self, event: Event) -> None:
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"t": round(event.time, 3), "kind": event.kind, **event.facts}, default=str) + "\n")
