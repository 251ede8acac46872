"""What one run of the program executed: for the reducer of source text.

Switched on by `TRIAGE_TRACE_LINES`, a JSON object: `out` (directory to write into), `roots` (directories whose files are the
user's), `wanted` ([basename, function, line], the failing frames as the compiler named them), `calls` (the compiled call that
failed, from 1; 0 where the failure comes later), `packages` (installed packages that are of interest as well), `compiled`
(whether every compiled function is wanted, as the failure names none).
Meant for a run without a compiler: inside compiled code no line would be seen. What was executed is settled when the call has
returned; it is written at the end, by exit handler or before `os._exit`. Every process writes a file of its own, those that
others start only where they executed something of the user's, and a first time when it is settled: they may be killed.

* `began`: when the process did; `rank`: its number in its group when a wanted frame was seen
* `lines`: {file: executed lines}, up to then; `modules`: {name: [file, is a package]}; `main`: [file, package]; `argv`
* `calls`: for a wanted frame or the compiled function itself, what it was called on, as expressions (`values`), and the
  statements that these need before them
* `moments`: the local names of a wanted frame when it came to its failing line, as expressions as well
* `origins`: {module: {name: [module, name it was defined under]}}; `files`: what was opened for reading below the roots
* `texts`: what was executed that is the text of no module (`texts`)
* `names`: what torch calls its functions and classes: such a word in the program's data is no secret
"""

import atexit
import json
import os
import sys
import threading
import time

from .. import whose
from ..capture.exception import rank
from .texts import Texts
from .values import CHILDS_MAIN, MAIN, Speller, home

VARIABLE = "TRIAGE_TRACE_LINES"
CALL_LIMIT = 64
AGAIN_SECONDS = 5.0  # for writing anew what was called before, outside of compiled calls
OTHER, MINE = 0, 1
AGENT = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep


def install(recorder):
    """Trace this interpreter, if it is asked for, and those that it starts."""
    text = os.environ.get(VARIABLE)
    if text:
        config = json.loads(text)
        os.environ[VARIABLE] = json.dumps(dict(config, child=True))
        Tracer(config, recorder).start()


class Tracer(object):
    """The state of one traced run."""

    def __init__(self, config, recorder):
        self.config = config
        self.recorder = recorder
        self.roots = [os.path.realpath(root) + os.sep for root in config["roots"]]
        self.packages = tuple(config.get("packages", ()))
        self.wanted = {}
        for name, function, line in config.get("wanted", ()):
            self.wanted.setdefault((name, function), []).append(line)
        self.lines = {}
        self.kinds = {}
        self.paths = {}
        self.main = None
        self.calls = {}  # by the compiled call, whether within it, and the function
        self.moments = {}  # by the line as well
        self.again = 0.0
        self.files = []
        self.texts = Texts()
        compares = config.get("compiled") and not config.get("calls")  # it is what the calls give that is looked at
        self.speller = Speller(self.is_local, ranges=bool(compares))
        self.pid = os.getpid()
        self.began = time.time()
        self.rank = None
        self.written = None  # by which process
        self.frozen = None
        self._local = threading.local()  # `entered`: the compiled call that runs

    def start(self):
        self.recorder.at_enter.append(self._entered)
        self.recorder.at_leave.append(self._left)
        sys.addaudithook(self._audit)
        atexit.register(self.write)
        self._write_before_leaving()
        threading.settrace(self._on_call)
        sys.settrace(self._on_call)

    def _write_before_leaving(self):
        """A program that ends by `os._exit`, as servers and test runners do, has no exit handlers."""
        leave = os._exit

        def leaving(status):
            self.write()
            leave(status)

        os._exit = leaving

    # -- lines and calls ------------------------------------------------------------------------------------------

    def _on_call(self, frame, event, arg):
        code = frame.f_code
        kind = self.kinds.get(code.co_filename)
        if kind is None:
            kind = self.kinds[code.co_filename] = self._kind(code.co_filename)
            self.paths[code.co_filename] = os.path.realpath(code.co_filename)  # now: the program may change directory
        if code.co_name == "<module>":
            self._module(frame)
        if kind == OTHER:
            return None
        failing = self.wanted.get((os.path.basename(code.co_filename), code.co_name), ())
        if self.config.get("compiled") and self._begins_a_call():  # also where its own check is what fails
            self._note(self.calls, (code,), lambda: self._calls(frame, code.co_firstlineno))
        elif failing:
            self._frame(frame)
        elif code.co_name == "__init__":
            self.speller.constructed(frame)
        if self.frozen is not None:
            return None
        lines = self.lines.setdefault(code.co_filename, set())
        lines.add(code.co_firstlineno)

        def on_line(frame, event, arg):
            if event == "line":
                lines.add(frame.f_lineno)
                if frame.f_lineno in failing:
                    self._moment(frame)
            return on_line

        return on_line

    def _module(self, frame):
        """A module begins, or a text. Python takes away what the main one is before exit handlers run."""
        if self.frozen is None and frame.f_back and self.kinds.get(frame.f_back.f_code.co_filename) == MINE:
            self.texts.begins(frame)
        name = frame.f_globals.get("__name__")
        if name == CHILDS_MAIN or (name == MAIN and self.main is None):
            self.main = [self.paths[frame.f_code.co_filename], getattr(frame.f_globals.get("__spec__"), "name", None)]

    def _kind(self, file):
        if not file or file.startswith("<"):
            return OTHER
        path = os.path.realpath(file)
        if path.startswith(AGENT):  # which may lie below a root
            return OTHER
        if whose.is_supplied(path):
            known = any("/%s/" % name in path or path.endswith("/%s.py" % name) for name in self.packages)
            return MINE if known else OTHER
        return MINE if any(path.startswith(root) for root in self.roots) else OTHER

    def is_local(self, module):
        """Whether a module is one whose text the reducer can have: the user's, or one of the packages of interest."""
        if home(module) == MAIN:
            return self.main is not None and self._kind(self.main[0]) == MINE
        file = getattr(sys.modules.get(module), "__file__", None)  # torch has modules with names of their own here
        return bool(file) and os.path.isabs(file) and self._kind(file) != OTHER

    def _frame(self, frame):
        """A failing function is called: what on."""
        code = frame.f_code
        last = max([code.co_firstlineno, *[entry[1] for entry in _lines_of(code)]])
        lines = self.wanted[(os.path.basename(code.co_filename), code.co_name)]
        line = next((line for line in lines if code.co_firstlineno <= line <= last), None)
        if line is not None:
            self._note(self.calls, (code,), lambda: self._calls(frame, line))

    def _begins_a_call(self):
        """Whether this is the first of the program's functions in a compiled call: the one that is compiled."""
        local = self.recorder._local
        if not getattr(local, "calls", 0) or getattr(local, "traced", None) == self.recorder.calls:
            return False
        local.traced = self.recorder.calls
        return True

    def _calls(self, frame, line):
        try:
            told = self.speller.calls(frame, getattr(self._local, "entered", None))
            return [dict(each, at=self.recorder.calls, line=line) for each in told]
        except Exception as error:
            return [{"function": frame.f_code.co_name, "at": self.recorder.calls, "why": repr(error)[:200]}]

    def _moment(self, frame):
        """A failing line is come to: what its names stand for."""
        self._note(self.moments, (frame.f_code, frame.f_lineno), lambda: self._names(frame))

    def _names(self, frame):
        try:
            return [dict(self.speller.moment(frame), at=self.recorder.calls, line=frame.f_lineno)]
        except Exception:
            return []

    def _note(self, known, place, tell):
        """Within a compiled call the first time counts; outside the last: that frame is running when the next one begins."""
        inside = self.recorder.inside()
        key = (self.recorder.calls, inside, *place)
        if self.frozen is not None or (key not in known and len(known) >= CALL_LIMIT):
            return
        if key in known and (inside or self.again > AGAIN_SECONDS):
            return
        self.rank = rank()  # now: the group may be gone at the end
        began, again = time.monotonic(), key in known
        known[key] = tell()  # in its old place: outer functions come first
        if again:
            self.again += time.monotonic() - began

    # -- the compiled call ----------------------------------------------------------------------------------------

    def _entered(self, what, call):
        if what == "calls" and self.recorder.depth(what) == 1:
            self._local.entered = call

    def _left(self, what):
        """What was executed is settled when the failing call has returned: what comes after it was never reached."""
        if what == "calls" and not self.recorder.depth(what):
            self._local.entered = None
        number = self.config.get("calls")
        if what != "calls" or not number or self.recorder.calls < number or self.frozen is not None:
            return
        if not self.recorder.depth(what):
            self.frozen = {file: sorted(lines) for file, lines in self.lines.items()}
            self._mark_callers()
            if self._is_child():
                self._put()

    def _mark_callers(self):
        """Frames that are still running: the lines they stand on were reached."""
        frame = sys._getframe(1)
        while frame is not None:
            lines = self.frozen.get(frame.f_code.co_filename)
            if lines is not None and frame.f_lineno not in lines:
                lines.append(frame.f_lineno)
            frame = frame.f_back

    # -- files and modules ----------------------------------------------------------------------------------------

    def _audit(self, event, args):
        if event == "compile" and len(args) > 1:
            self.texts.compiled(*args[:2])
        if event != "open" or len(self.files) > 50:
            return
        try:
            path, mode = args[0], args[1]
            if not isinstance(path, str) or (isinstance(mode, str) and any(mark in mode for mark in "wax+")):
                return
            if mode is None and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
                return
            full = os.path.realpath(path)
            if full.endswith((".py", ".pyc", ".so", ".pyi")) or full in self.files or whose.is_supplied(full):
                return
            if any(full.startswith(root) for root in self.roots) and os.path.isfile(full):
                self.files.append(full)
        except Exception:
            return

    def _is_child(self):
        """Whether a process of the program started this one, or this is a fork of it."""
        return bool(self.config.get("child")) or os.getpid() != self.pid

    def write(self):
        """Write what is known, at the end of a process."""
        if self.written == os.getpid():
            return
        self.written = os.getpid()
        sys.settrace(None)
        threading.settrace(None)
        if self.lines or not self._is_child():
            self._put()

    def _put(self):
        """As a whole or not at all."""
        try:
            path = os.path.join(self.config["out"], "executed-%d.json" % os.getpid())
            with open(path + ".part", "w") as file:
                json.dump(self._facts(), file)
            os.replace(path + ".part", path)
        except Exception as error:
            sys.stderr.write("triage: what was executed could not be written: %s\n" % error)

    def _facts(self):
        modules, origins = self._modules()
        return {
            "began": self.began,
            "rank": self.rank,
            "main": self.main or [None, None],
            "argv": list(sys.argv[1:]),
            "lines": {
                self.paths[file]: sorted(lines)
                for file, lines in (self.lines if self.frozen is None else self.frozen).items()
            },
            "modules": modules,
            "origins": origins,
            "calls": [told for calls in list(self.calls.values()) for told in calls],
            "moments": [told for moments in list(self.moments.values()) for told in moments],
            "files": self.files,
            "texts": self.texts.programs(),
            "grad": _grad_enabled(),
            "names": _names_of_torch(),
        }

    def _modules(self):
        found, origins = {}, {}
        if self.main is not None and self._kind(self.main[0]) == MINE:
            found[MAIN] = [self.main[0], False]
        for name, module in sorted(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if not isinstance(file, str) or not file.endswith(".py") or not self.is_local(name):
                continue
            if name != MAIN and module is sys.modules.get(MAIN):
                continue  # multiprocessing's other name for it
            found.setdefault(name, [os.path.realpath(file), hasattr(module, "__path__")])
            told = origins.setdefault(name, {})
            for key, value in list(vars(module).items()):
                place, own = home(getattr(value, "__module__", None)), getattr(value, "__name__", None)
                if not isinstance(place, str) or not isinstance(own, str) or (place, own) == (name, key):
                    continue
                if place in sys.modules and self.is_local(place) and callable(value):
                    told[key] = [place, own]
        return found, origins


def _lines_of(code):
    import dis

    return [(start, line) for start, line in dis.findlinestarts(code) if line]


def _names_of_torch():
    places = ("torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.optim")
    found = set()
    for place in places:
        try:
            module, _, name = place.rpartition(".")
            found.update(dir(sys.modules[place] if place in sys.modules else getattr(sys.modules[module], name)))
        except Exception:
            continue
    return sorted(name for name in found if not name.startswith("_"))


def _grad_enabled():
    try:
        return bool(sys.modules["torch"].is_grad_enabled())
    except Exception:
        return True
