"""When to wait no longer for the first run of a script: long before the time limit, where it cannot but hang.

That is known once the uncompiled run beside it has passed. The first one is late when it takes many times as long, a good part of
the limit besides, and nothing has been heard of it lately: no output, no log of the compiler's, no event of the agents. A slow
compile is heard of graph by graph and pass by pass, and is left its whole limit. A line that says again what it said before,
but for the time, is no progress while something is compiled or a compiled graph runs: a loop of the program's that goes on
prints between these. A run that stands still besides, as in a deadlock, is no slow compile: it is late before that part of the
limit. What it waited for a processor does not count.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from triage.probe.events import events_in
from triage.probe.launch import LATE
from triage.probe.starvation import STILL, Standstill, Starved

FACTOR = 10.0  # times what the uncompiled run took
STILL_FACTOR = 2.0  # where it stands still, and is not slow: what waits in the uncompiled run too has waited by then
SHARE_OF_LIMIT = 0.4
SILENT_SECONDS = 40.0
LOOK_SECONDS = 1.0
PRINTED = 2  # files of what the program prints
# Between two lines that are alike, at least, or from the first of them where they name seconds (`17s`, `0:17`, `17.2`): what
# counts by one is told from what counts seconds.
BEAT_SECONDS = 4.0
SLACK_SECONDS = 2.0  # of what has passed between two looks
MOST_READ = 1 << 16
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d\d)(?:[.,](\d+))?(?![\d:])")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)( ?s(?:ec(?:ond)?s?)?\b)?")
# As the agent writes them down. Of what is compiled in a backward pass the end is not told.
_GOES_ON = ("compile graph ", "inductor compiles forward ", "run graph ")


class Lateness:
    """Asked again and again while the run goes on, with what it writes into: the files of what it prints, others, a folder.

    `limit` is that of the run in seconds, `passed` gives the seconds that the uncompiled run took, once it has passed.
    `suspected` is called once, as soon as the run takes many times as long: it is likely to be late.
    """

    def __init__(
        self,
        limit: float,
        passed: Callable[[], float | None],
        clock: Callable[[], float] = time.monotonic,
        *,
        suspected: Callable[[], None] = lambda: None,
        standstill: Standstill | None = None,
        starved: Starved | None = None,
    ) -> None:
        self._least = SHARE_OF_LIMIT * limit
        self._passed = passed
        self._suspected: Callable[[], None] | None = suspected
        self._standstill, self._starved = standstill or Standstill(), starved or Starved()
        self._clock = clock
        self._began = self._heard = self._next_look = clock()
        self._sizes: dict[Path, int] = {}
        self._beats = _Beats()

    def __call__(self, written: Sequence[Path], process: int) -> str:
        """Why it is late; empty while it is not."""
        now = self._clock()
        if now < self._next_look:
            return ""
        self._next_look = now + LOOK_SECONDS
        before, self._sizes = self._sizes, dict(_sizes(written))
        grown = [path for path, size in self._sizes.items() if size != before.get(path)]
        printed = [path for path in grown if path in written[:PRINTED]]
        beats = [self._beats.only(path, now) for path in printed]
        if len(grown) > len(printed) or (beats and not (all(beats) and _goes_on(written[-1]))):
            self._heard = now
        still = self._standstill.look(process, itself=False) >= SILENT_SECONDS
        silent = now - self._heard >= SILENT_SECONDS
        seconds, taken = self._passed(), now - self._began - self._starved.look(process)
        if seconds is not None and still and silent and taken >= STILL_FACTOR * seconds:
            return STILL
        if seconds is None or taken < FACTOR * seconds:
            return ""
        if self._suspected is not None and taken >= self._least - SILENT_SECONDS:
            self._suspected()
            self._suspected = None
        return LATE if silent and taken >= self._least else ""


def _sizes(written: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    for path in written:
        with contextlib.suppress(OSError):
            for file in path.iterdir() if path.is_dir() else (path,):
                yield file, file.stat().st_size


class _Beats:
    """What a program prints by the clock, while it may stand still."""

    def __init__(self) -> None:
        self._read: dict[Path, int] = {}
        # By what a line says besides numbers: when and with which, last, and as the first of those that go by the clock.
        self._last: dict[str, tuple[float, list[float], float, list[float]]] = {}

    def only(self, path: Path, now: float) -> bool:
        """Whether what the file has grown by are lines that were there before, but for the time that has passed."""
        begin = self._read.get(path, 0)
        with contextlib.suppress(OSError), path.open("rb") as file:
            file.seek(begin)
            text = file.read(MOST_READ)
            self._read[path] = path.stat().st_size
            lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
            beats = [self._is_beat(line, now) for line in lines]  # each is remembered
            return all(beats) and len(text) < MOST_READ
        return False

    def _is_beat(self, line: str, now: float) -> bool:
        line = _CLOCK.sub(_seconds, line)
        numbers = [float(number) for number, _ in _NUMBER.findall(line)]
        told = [bool(unit or "." in number) for number, unit in _NUMBER.findall(line)]  # as what counts seconds
        words = _NUMBER.sub(r"0\2", line)
        then, before, since, began = self._last.get(words, (now, [], now, numbers))
        moved = [i for i, (new, old) in enumerate(zip(numbers, before, strict=False)) if new != old]
        often = bool(moved) and all(told[i] for i in moved)
        if not (often and _by_the_clock(numbers, began, moved, now - since)):
            often, since, began = False, now, numbers
        self._last[words] = now, numbers, since, began
        if often and now - since >= BEAT_SECONDS:
            return True
        return now - then >= BEAT_SECONDS and _by_the_clock(numbers, before, moved, now - then)


def _by_the_clock(numbers: Sequence[float], before: Sequence[float], moved: Sequence[int], passed: float) -> bool:
    """Whether what moved did by the time that has passed."""
    return all(abs(numbers[i] - before[i] - passed) <= SLACK_SECONDS for i in moved)


def _seconds(clock: re.Match[str]) -> str:
    hours, minutes, seconds, rest = clock.groups()
    return f"{(int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)}.{rest or 0}"


def _goes_on(channel: Path) -> bool:
    """Whether a process is compiling, or in a compiled graph, by the last word of its agent."""
    try:
        return any(_last_breadcrumb(path).startswith(_GOES_ON) for path in channel.glob("events-*.jsonl"))
    except OSError:
        return False


def _last_breadcrumb(events: Path) -> str:
    for event in reversed(events_in(events)):
        if event.get("e") == "graph_failed":  # and the program goes on
            return ""
        if event.get("e") == "breadcrumb":
            return str(event.get("text", ""))
    return ""
