"""What the agent remembers while the target runs, and the events that it makes of it.

An exception is recorded once, where it first crosses the compile boundary, and again (by number) where it is seen later:
swallowed, or uncaught at the end of the program.
"""

import contextlib
import json
import os
import sys
import threading
import time

from ..capture import operators
from ..capture.exception import describe, exit_status, rank
from ..compat import gpu, recompilations
from . import leaving
from .running import Running

EVENT_LIMIT = 200
STOP_FILE = "stop_after.json"  # as `probe/run.py` writes it into the channel


THREADS_SECONDS = 10.0  # for the threads that outlive the main one


class Recorder:
    """Counts and records. One per process; `config` is the probe's."""

    def __init__(self, channel, config):
        self.channel = channel
        self.running = Running(channel.directory)
        self.config = config
        self.calls = 0
        self.backwards = 0
        self.graphs = 0
        self.passed_over = []  # functions of ours that frames of the program call, which Dynamo leaves alone
        self.double_backward = False
        self.comparer = None  # compares compiled graphs with eager, where the probe asks for it
        self.standby = None  # copies the program at the first call, where the probe asks for it (`warm/standby.py`)
        self.held = None  # waits at the first call until it is told to go on, where the probe asks for it (`held.py`)
        self.turns = None  # measures steps in turns with other processes, where the probe asks for it
        # Functions that are told `calls` or `backwards` once that has begun, has ended.
        self.at_enter, self.at_leave = [], []
        self.at_end = []  # functions that tell what they know once the program has ended
        self.forced = False  # what was compiled before is on another rung
        self._ids = 0
        self._told_ranks = bool(config.get("explain"))  # a question in each call, for the ladder alone
        self._told_operators = []
        self._told_questions = set()
        self._died = False
        self.hushed = False  # the program was told to end
        self._began = time.monotonic()
        self._steps = {"calls": Steps(), "backwards": Steps()}
        self._told = None  # the totals of which this process, or before the fork its parent, has told
        self._pid = os.getpid()
        self._local = threading.local()

    def begin_again(self, config, running):
        """Go on in a copy of the process as if this were another probe, which has come as far as this one."""
        self.config, self.running, self.forced = config, running, True
        self.channel.directory = config["channel"]
        self._told = None
        self._pid = os.getpid()

    def forked(self):
        """In a child of the program's: what was counted until now is told by its parent."""
        self.channel.forked()
        self._told = self._totals()

    # -- exceptions ---------------------------------------------------------------------------------------------

    def mark(self, error, **facts):
        """Attach facts (phase, graph) to an exception without recording it yet. The first word on a fact stays."""
        try:
            known = error.__dict__.setdefault("_triage_facts", {})
            for name, value in facts.items():
                known.setdefault(name, value)
        except Exception:
            return

    def raised(self, error, phase, swallowed=False, test=""):
        """Record an exception at a boundary, or where it was seen again. `test`: of a test runner, which it ended."""
        if self.comparing() or exit_status(error) == 0:
            return
        try:
            facts = error.__dict__.setdefault("_triage_facts", {})
        except Exception:
            facts = {}
        if "id" in facts:
            # A pool gives it to the process that asked, with all that it has on it: it is known by where it was recorded.
            self.channel.say(
                "raised_again", id=facts["id"], phase=phase, swallowed=swallowed, pid=facts["pid"], test=test
            )
            return
        self._ids += 1
        if self._ids > EVENT_LIMIT:
            return
        facts.update(id=self._ids, pid=os.getpid())
        self.operators()
        running = facts.get("graph") is not None and facts.get("phase") == "call"
        self.channel.say(
            "raised",
            id=self._ids,
            phase=phase,
            exception=describe(error, facts.get("phase", phase), swallowed, in_graph=running),
            chain=_chain(error),
            graph=facts.get("graph"),
            point={"calls": self.calls, "backwards": self.backwards},
            pid=os.getpid(),
            double_backward=self.double_backward,
            test=test,
        )

    def uncaught(self, error):
        """The exception that ended the program."""
        if isinstance(error, Exception):
            self._died = True
            self.raised(error, "uncaught")

    def main_thread_ended(self):
        """Nothing is left but other threads. Where those have nothing to tell us, the program has some seconds to end."""
        if self.turns is not None and not self._died:
            self.turns.program_ended()
        self.channel.say("main_ended", pid=os.getpid())
        if (self._died or self._stop()) and self.alone():
            leaving.later(THREADS_SECONDS, lambda: self.leave_early(1 if self._died else 0))

    def hush(self):
        """Nothing that happens from now on is the program's doing; leave as soon as its exit handlers have run."""
        self.channel.hushed = True
        self.running.keep()
        self.hushed = True

    def operators(self):
        """Tell which custom operators the program knows, as far as that was not told."""
        known = operators.known()
        if known != self._told_operators:
            self._told_operators = known
            self.channel.say("operators", names=known[:EVENT_LIMIT])

    def asked_if_compiled(self, place):
        """The program asked on this line whether it is compiled, in a function that would have been."""
        if place not in self._told_questions and len(self._told_questions) < EVENT_LIMIT:
            self._told_questions.add(place)
            self.channel.say("asked_if_compiled", place=place)

    # -- progress -----------------------------------------------------------------------------------------------

    def breadcrumb(self, text):
        """Where the program is now: the last one tells what a crash or a hang was doing."""
        self.channel.say("breadcrumb", text=text)

    def enter(self, what, call=None):
        """A compiled function is called, or a backward pass begins; nested ones do not count.

        Nor does a backward pass inside a call: AOTAutograd runs one while it traces. `call` is (function, args, kwargs).
        """
        if self.standby is not None and what == "calls":
            standby, self.standby = self.standby, None
            standby.reached()
        if self.held is not None and what == "calls":
            self._began += self.held.reached()
        depth, outermost = self.depth(what), not self.inside()
        setattr(self._local, what, depth + 1)
        if depth == 0 and not (what == "backwards" and self.depth("calls")):
            setattr(self, what, getattr(self, what) + 1)
            if not self._told_ranks and rank() is not None:
                self._told_ranks = True
                self.channel.say("distributed")
            self._stop_if_passed(what)
            if outermost and self.turns is not None and call is not None and not self.turns.named:
                self.turns.begins(call)
            if outermost and self.config.get("timed"):
                self._local.began = self.now(), time.process_time(), self.graphs
        for told in self.at_enter:
            told(what, call)

    def depth(self, what):
        """In how many `calls`, or `backwards`, one inside the other, this thread is."""
        return getattr(self._local, what, 0)

    def inside(self):
        """Whether this thread is in a call of a compiled function, or in a backward pass."""
        return bool(self.depth("calls") or self.depth("backwards"))

    def comparing(self):
        """Whether this thread compares a call: what it runs, and what that raises, is not the program's."""
        return self.comparer is not None and self.comparer.compares()

    def compiled_with(self, settings):
        """What torch.compile was told for the function that runs now, in this thread; returns what was said before."""
        outer = getattr(self._local, "settings", None)
        self._local.settings = settings
        return outer

    def compile_settings(self):
        """What torch.compile was told for the function that is running now, as fields of a captured graph's context."""
        settings = getattr(self._local, "settings", None) or {}
        options = settings.get("options") or {}
        plain = {str(name): value for name, value in options.items() if isinstance(value, (bool, int, float, str))}
        return {
            "fullgraph": bool(settings.get("fullgraph", False)),
            "dynamic": settings.get("dynamic"),
            "mode": settings.get("mode") if settings.get("mode") != "default" else None,
            "options": plain,
        }

    def own_backend(self):
        """The backend that the program gave to torch.compile for the function that runs now, and what torch hands on to it.

        (None, {}) where another is forced.
        """
        settings = getattr(self._local, "settings", None) or {}
        if self.config.get("rung") is not None:
            return None, {}
        given = {name: settings.get(name) for name in ("mode", "options")}
        return settings.get("backend"), {name: value for name, value in given.items() if value and value != "default"}

    def leave(self, what):
        if what == "backwards" and getattr(self._local, what, 1) == 1 and self.comparer is not None:
            self.comparer.backward_ended()
        setattr(self._local, what, getattr(self._local, what, 1) - 1)
        began = getattr(self._local, "began", None)
        if began is not None and not self.inside():
            self._local.began = None
            seconds, worked = self.now() - began[0], time.process_time() - began[1]
            self._steps[what].add(seconds, worked, compiled=self.graphs > began[2])
            if self.turns is not None and not self.turns.named:
                self.turns.took(what, seconds)
        for told in self.at_leave:
            told(what)

    def now(self):
        """Seconds. A GPU has done by then what it was told."""
        with contextlib.suppress(Exception):
            gpu.wait()
        return time.perf_counter()

    def _stop_if_passed(self, what):
        """End the program once it is well past the point at which the failure was seen in an earlier probe.

        Well past: the call that failed and the one after it have returned, and so has the backward pass.
        """
        stop = self._stop()
        if not stop or what != "calls" or not self.alone():
            return
        past = self.calls >= stop["calls"] + 2 and self.backwards >= stop["backwards"]
        if past and time.monotonic() - self._began >= stop.get("seconds", 0.0):
            self.leave_early()

    def _stop(self):
        """The point behind which the program may end: told before its start or, with `stop_later`, in a file while it runs."""
        if self.config.get("stop_later") and not self.config.get("stop_after"):
            path = os.path.join(self.channel.directory, STOP_FILE)
            try:
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as file:
                        self.config = dict(self.config, stop_after=json.load(file))
            except (OSError, ValueError):
                return None
        return self.config.get("stop_after")

    def leave_early(self, status=0):
        """End the program, which has shown what it was run for; not where others wait for it. With a status it died by itself."""
        if not self.alone():
            return
        if not status:
            self.channel.say("stopped_early", calls=self.calls, backwards=self.backwards)
        self.end()
        self.channel.hushed = True
        leaving.let_go(status)

    def alone(self):
        """Whether no other process waits for this one: its peers would hang, or fail, if it ended early."""
        process = sys.modules.get("multiprocessing.process")
        child = os.getpid() != self._pid or (process is not None and process.parent_process() is not None)
        return not child and rank() is None

    def end(self):
        """All that is known at the end only."""
        for tell in self.at_end:
            tell()
        share = gpu.share()
        if share is not None:
            self.channel.say("device", share=share)
        self.tell_totals()

    def tell_totals(self):
        """What was counted and not told yet: at the end, or before `os._exit`, with which a forked worker ends, too."""
        totals, known = self._totals(), self._told or {}
        more = {name: max(0, total - known.get(name, 0)) for name, total in totals.items()}
        if self._told is None or any(more.values()):
            self._tell_steps()
            self.channel.say("end", **more)
        self._told = totals

    def _totals(self):
        """As far as this torch counts them."""
        totals = {
            "graphs": self.graphs,
            "graph_breaks": 0,
            "recompiles": 0,
            "calls": self.calls,
            "backwards": self.backwards,
            "compared": self.comparer.calls if self.comparer is not None else 0,
        }
        utils = sys.modules.get("torch._dynamo.utils")
        counters = getattr(utils, "counters", None)
        if counters is not None:
            totals["graphs"] = counters.get("stats", {}).get("unique_graphs", self.graphs)
            totals["graph_breaks"] = sum(counters.get("graph_break", {}).values())
            totals["recompiles"] = recompilations()
        return totals

    def _tell_steps(self):
        calls, backwards = self._steps["calls"], self._steps["backwards"]
        if calls.median() is not None:
            self.channel.say(
                "steps", calls=calls.count, call=calls.median(), backwards=backwards.count, backward=backwards.median()
            )


class Steps(object):
    """How long the outermost calls took in which nothing was compiled, in seconds. The first one never counts.

    Nor does one of less work, seconds of the processor's, than waiting: beside other programs the threads of a small operation
    wait a hundred milliseconds for each other.
    """

    KEPT = 1000

    def __init__(self):
        self.count = 0
        self._seconds = []

    def add(self, seconds, worked, compiled):
        self.count += 1
        if self.count > 1 and not compiled and worked >= seconds / 2:
            self._seconds.append(seconds)
            del self._seconds[: -self.KEPT]

    def median(self):
        """None where fewer than two were measured."""
        found = sorted(self._seconds)
        return found[len(found) // 2] if len(found) > 1 else None


def _chain(error):
    """The recorded exceptions that this one was raised from: the process and the number of each."""
    found = []
    seen = 0
    node = error.__cause__ or error.__context__
    while node is not None and seen < 20:
        facts = getattr(node, "__dict__", {}).get("_triage_facts", {})
        if "id" in facts:
            found.append([facts["pid"], facts["id"]])
        node, seen = node.__cause__ or node.__context__, seen + 1
    return found
