"""Stand-ins for the tests of bisection: outcomes, and a bench that has everything ready at once."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from triage.bisect.points import Point, Ready
from triage.environments.venvs import UntestableError
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.probe.target import Target

NOTES = AgentNotes(started=True, torch_version="2.0")
PASSES = Outcome(OutcomeKind.OK, exit_code=0)


def fails(message: str = "the planted failure", type_name: str = "ValueError") -> Outcome:
    frame = Frame("/x/site-packages/torch/_inductor/ir.py", 1, "realize")
    return Outcome(OutcomeKind.EXCEPTION, exit_code=1, exception=RaisedException(type_name, message, (frame,)))


def lacks() -> Outcome:
    frame = Frame("script.py", 3, "<module>", "torch.compiler.set_stance('x')")
    text = "module 'torch.compiler' has no attribute 'set_stance'"
    return Outcome(OutcomeKind.EXCEPTION, exit_code=1, exception=RaisedException("AttributeError", text, (frame,)))


@dataclass
class StubBench:
    """Every point is ready at once, but for those that are untestable or raise."""

    untestable: dict[str, str] = field(default_factory=dict)
    broken: dict[str, Exception] = field(default_factory=dict)
    installs: int = 0
    made: list[str] = field(default_factory=list)
    held: Counter[str] = field(default_factory=Counter)
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ready(self, point: Point) -> Ready:
        with self.lock:
            if point.name in self.untestable:
                raise UntestableError(self.untestable[point.name])
            if point.name in self.broken:
                raise self.broken[point.name]
            if point.name not in self.made:
                self.made.append(point.name)
                self.installs += 1
            self.held[point.name] += 1
        return Ready(point, Target("python", ("python", "script.py"), Path()))

    def quick(self, point: Point) -> bool:
        return point.name in self.made

    def done(self, ready: Ready) -> None:
        with self.lock:
            self.held[ready.point.name] -= 1

    def stop(self) -> None:
        self.stopped = True
