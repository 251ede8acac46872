"""One reduction of a program's text, step by step: what was found so far is kept, also when it is cut short.

Where the failure needs data of the program that is not to be shown, candidates are run with a *prelude* that provides it,
and what is shown is the same text without: it reads the person's own file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from triage.judge.asking import FailingCandidate, StopReductionError
from triage.judge.judgement import Judgement
from triage.model.stage import Verdict
from triage.reduce.interface import Course, NoReduction, Reduction, SiblingScript
from triage.reduce.printing.printer import code_lines
from triage.reduce.text.checks.left_files import LeftFiles
from triage.reduce.text.code.script import Script
from triage.reduce.text.code.tidy import cleaned
from triage.reduce.text.code.weight import foreign_imports
from triage.reduce.text.data.files import STDIN, Data, data_of, without_data
from triage.reduce.text.data.withheld import Needed, needed
from triage.reduce.text.finish.comments import lines_of
from triage.reduce.text.finish.eager_first import eager_first
from triage.reduce.text.search import Search
from triage.reduce.text.starts.extract import closed, pumped
from triage.reduce.text.starts.failing_line import without_the_rest
from triage.reduce.text.starts.texts import KnownFailure, starts
from triage.reduce.text.validity import Validity
from triage.reduce.text.validity.seeding import without_seeds
from triage.reduce.text.watching.evidence import Trace
from triage.trial.driver import Driver

MOST_PUMPS = 30
MOST_IMPORTS = 8  # of packages, in a script that was to need none
NOTICEABLY = 1.1  # times as many lines
RUNS_WITHOUT_SEEDS = 4


@dataclass(frozen=True)
class Bench:
    """Where candidates are tried. `run` gives the text that is run (with the program's data in front, where it needs that),
    `shown` the text that the report shows.
    """

    driver: Driver[Script]
    search: Search
    run: Callable[[Script], str]
    shown: Callable[[Script], str]


class NewBench(Protocol):
    """Makes a bench on which candidates are run with this prelude; `private`: they hold data that is not to be shown."""

    def __call__(self, prelude: str, *, private: bool = False) -> Bench: ...


@dataclass(frozen=True)
class Around:
    """Where the program finds its data, and whether that may be shown."""

    folder: Path  # of the script
    cwd: Path
    stdin: Path | None
    include: bool
    emit: Callable[..., None]


@dataclass
class Reducing:
    """One reduction: what was found so far, also when it is cut short."""

    new_bench: NewBench
    valid: Validity
    learn: Callable[[], Trace | None]  # runs the program once more
    known: KnownFailure
    around: Around
    search_is_over: Callable[[], None]  # what was kept of the time may be spent
    files: LeftFiles = field(default_factory=LeftFiles)
    ending: Callable[[Script], Iterable[Script]] = (
        eager_first  # the final text with what shows its reader what is wrong
    )
    outline_only: bool = False  # what tells one bug from others is enough: one round, and nothing for a reader

    def __post_init__(self) -> None:
        self._use(self.new_bench(""))
        self._queries = 0  # on benches that were left
        self._needed: Needed | None = None
        self._shown: Script | None = None
        self._seeded: Script | None = None  # the last text with its seeds, where they went
        self._course = Course("the time for it was spent")
        self._reason = ""
        self._minimal = False
        self._answers: list[Judgement] = []  # on the texts to start from
        self._alone = False  # whether a failing call is known, and was among them
        self._executed = False  # whether any of the program's own text was seen to be

    def _use(self, bench: Bench) -> None:
        """From now on candidates are tried on this one."""
        self._bench, self._driver, self._search = bench, bench.driver, bench.search

    def run(self) -> Reduction | NoReduction:
        with self._course.keeping():
            trace = self.learn()
            if trace is None:
                self._reason = "the program's run could not be watched"
            else:
                self._reduce(trace)
        return self._result()

    def _reduce(self, trace: Trace) -> None:
        found = self._start(trace)
        if found is None:
            return
        self.valid.of(found)
        with self._course.keeping():  # what was found is still made ready for its reader
            self._make_certain(found, trace)
        if self._course.interrupted or self._driver.best is None:
            return
        self.search_is_over()
        if self._course.stopped:
            with contextlib.suppress(StopReductionError):
                self._search.without_leftovers()
        if not self.outline_only:
            self._show_what_is_wrong()
        if self._needed is not None and not self.around.include:
            self._without_data()

    def _make_certain(self, found: Script | None, trace: Trace) -> None:
        """Smaller, and again from the beginning where a hang that this ends in turns out to be slow only."""
        while found is not None:
            self._make_smaller(found, trace)
            if self._driver.certain(self._search.current):
                return
            self._minimal, self._seeded = False, None
            self._reason = "what seemed to hang only took long"
            found = self._driver.first([found])
            if found is not None:
                self._reason = ""

    def _make_smaller(self, found: Script, trace: Trace) -> None:
        found = self._without_the_rest(found)
        if list(foreign_imports(found)):
            found = self._without_packages(found, trace)
        if self.outline_only:
            self._search.reduce(found, rounds=1)
            return
        self._minimal = self._search.reduce(found)
        self._without_seeds()
        self._search.polish(lines_of(module.text for module in trace.modules.values()))

    def _start(self, trace: Trace) -> Script | None:
        """A script that fails the same way, with made-up data where that will do."""
        around = self.around
        data = data_of(trace, around.folder, around.cwd, around.stdin)
        texts = starts(without_data(trace, data.public), self.known, data.preludes())
        self._alone = bool(trace.calls or trace.moments)
        self._executed = bool(trace.modules or trace.texts)
        if texts:
            self._tell_starts()
        found = self._first(texts)
        if found is None and self.files.refused:
            self.files.tolerate()
            self._queries += self._driver.queries
            self._use(self.new_bench(""))
            found = self._first(texts)
        return found if found is not None or self.known.compared else self._with_own_words(trace, data)

    def _tell_starts(self) -> None:
        """What is asked now: an answer may take as long as the program."""
        alone = "the failing call alone, else " if self._alone else ""
        what = "compiled calls, compared with eager" if self.known.compared else f"{alone}the program in one file"
        seconds = self._driver.timeout()
        limit = f" (limit {seconds:.0f} s each)" if seconds is not None else ""
        self.around.emit("engine_step", text=f"trying {what}{limit}")

    def _first(self, texts: Sequence[Script]) -> Script | None:
        self._driver.begin("one file")
        found = self._driver.first(texts)
        self._answers = list(filter(None, map(self._driver.remembered, texts)))
        return found

    def _with_own_words(self, trace: Trace, data: Data) -> Script | None:
        """Where nothing made up fails the same way: with the program's own data, which is shown only if that is allowed."""
        private = self.new_bench("", private=True)
        private.driver.begin("data")
        found = needed(private.driver, trace, data, self.known)
        self._queries += private.driver.queries
        if found is None:
            return None
        self.around.emit("data_needed", told=found.told(), words=list(found.words), included=self.around.include)
        if found.in_text and not self.around.include:
            self._reason = f"it fails with {found.told()} alone, and --include-data was not given to show them"
            return None
        self._needed = found
        self._queries += self._driver.queries
        self._use(self.new_bench("" if self.around.include else found.prelude))
        start = found.whole() if self.around.include else found.script
        return start if self._driver.fails(start) else None

    def _without_the_rest(self, found: Script) -> Script:
        """In one step what a pass over statements would find in many: nothing below the failing lines is needed."""
        less = without_the_rest(found, self.known.frames)
        return less if less.weight() < found.weight() and self._driver.fails(less) else found

    def _without_seeds(self) -> None:
        """Until nothing else is asked random numbers are the same in each run; then seeds go, if it fails each time without."""
        seeded = self._search.current
        less = without_seeds(seeded)
        if less is not None and self._allow(less):
            self._driver.begin("seeds")
            if self._driver.always(less, RUNS_WITHOUT_SEEDS):
                self._seeded, self._search.current = seeded, less
                self._search.without_unread()

    def _without_data(self) -> None:
        """What is left may read nothing of it any more: then it is complete as it is shown."""
        assert self._driver.best is not None
        final, bench = self._shown or self._driver.best.candidate, self.new_bench("")
        bench.driver.begin("data")
        if bench.driver.fails(final):
            self._queries += self._driver.queries
            self._needed = self._shown = None
            self._use(bench)

    def _show_what_is_wrong(self) -> None:
        """The final text with an eager call first (or with what compares, at its end), where it fails the same way."""
        self._driver.begin("eager first")
        with contextlib.suppress(StopReductionError):
            assert self._driver.best is not None
            best = self._driver.best.candidate if self._course.stopped else self._search.current
            found = self._driver.first(self.ending(best))
            if found is not None:
                self._shown = found

    def _without_packages(self, found: Script, trace: Trace) -> Script:
        """Copy out what is imported of installed packages: all at once, or one definition at a time.

        Each candidate imports the package, which is slow, and what is taken from it can become small only once it is
        copied: so until then only statements go.
        """
        self._driver.begin("packages")
        copied = (text for text in closed(found, trace.modules) if len(list(foreign_imports(text))) <= MOST_IMPORTS)
        copied = (text for text in copied if self._allow(text))
        found = self._without_the_rest(next((text for text in copied if self._driver.fails(text)), found))
        for _ in range(MOST_PUMPS):
            self._search.fewer_statements(found, first=True)
            found = self._search.current
            self._driver.begin("packages")
            longer = [Script(cleaned(text)) for text in pumped(found, trace.modules)]
            grown = self._driver.first([text for text in longer if self._allow(text)])
            if grown is None:
                break
            found = grown
        return found

    def _allow(self, grown: Script) -> bool:
        """What is odd in a package's own text is no flaw of what is made from it. False for a text that does not parse."""
        with contextlib.suppress(SyntaxError, ValueError):
            self.valid.of(grown)
            return True
        return False

    def _result(self) -> Reduction | NoReduction:
        driver, course = self._driver, self._course
        queries = self._queries + driver.queries
        left = self.files.of(driver.best.source) if driver.best is not None else ""
        if left:
            self._reason = f"every script that was found to fail the same way leaves {left} in the current directory"
        if driver.best is None or left:
            return NoReduction(self._why(), self._siblings(), course.interrupted, course.bug)
        found = Reduction(
            source="",
            engine="native",
            case="source",
            ops=None,
            queries=queries,
            seconds=course.seconds(),
            minimal=self._minimal and not course.stopped,  # with its seeds and spellings, which are looked at last
            complete=not course.stopped,
            enough=self.outline_only and not course.stopped,
            siblings=self._siblings(),
            notes=tuple(self._notes(driver.best.candidate)),
            interrupted=course.interrupted,
            bug=course.bug,
        )
        larger = tuple(self._with_text(replace(found, minimal=False), script) for script in self._larger(driver.best))
        return replace(self._with_text(found, self._shown or driver.best.candidate), larger=larger)

    def _with_text(self, found: Reduction, script: Script) -> Reduction:
        """The text as it is shown, and as it is run where that is another."""
        if self._needed is None or self.around.include:
            return replace(found, source=self._bench.shown(script))
        return replace(
            found, source=self._bench.shown(script), private=self._bench.run(script), needs=self._needed.names
        )

    def _siblings(self) -> tuple[SiblingScript, ...]:
        hidden = self._needed.prelude if self._needed is not None and not self.around.include else None
        return tuple(
            SiblingScript(signature, text.replace(hidden, "") if hidden else text)
            for signature, text, _ in self._driver.siblings
        )

    def _larger(self, best: FailingCandidate[Script]) -> list[Script]:
        """The final text without what was added to it, the one with its seeds, and those found before that are noticeably
        longer than what followed, up to the first.
        """
        found = [best.candidate] if self._shown is not None else []
        found += [self._seeded] if self._seeded is not None else []
        least = code_lines(best.source)
        for held in reversed(self._driver.history):
            if code_lines(held.source) > NOTICEABLY * least and not self.files.of(held.source):
                found.append(held.candidate)
                least = code_lines(held.source)
        return found

    def _why(self) -> str:
        if self._reason:
            return self._reason
        if self._course.stopped:
            return f"no script that fails the same way was found before {self._course.stopped}"
        tried = len(self._answers)
        if not tried and self.known.compared:
            return "no call of a compiled function could be written down"
        if not tried and self._executed:
            return "nothing that was executed could be made a script that runs by itself (a test may need its fixtures)"
        if not tried:
            return "no file of the program was seen to be executed, so there was no text to try"
        unjudged = [answer.reason for answer in self._answers if answer.verdict is Verdict.UNRESOLVED]
        many = f"{tried} text{' was' if tried == 1 else 's were'} tried"
        if self.known.compared:
            return f"none that was written down gives by itself something else than uncompiled ({many})"
        if len(unjudged) == tried:
            return f"no text made of it gave an answer ({many}; {unjudged[0]})"
        if not self._alone:
            return f"the whole program in one file does not fail the same way in an empty directory ({many})"
        return (
            "neither the failing function by itself nor the whole program in one file fails the same way in an empty "
            f"directory ({many})"
        )

    def _notes(self, best: Script) -> list[str]:
        notes = []
        if self._course.stopped:
            notes.append(f"Minimality was not shown: {self._course.stopped}.")
        names = sorted({_package(node) for node, _ in foreign_imports(best)})
        if names:
            notes.append(f"It still imports {', '.join(names)}.")
        if self._needed is not None:
            notes.append(_told(self._needed, self._shown or best, included=self.around.include))
        return list(filter(None, notes))


def _told(found: Needed, script: Script, *, included: bool) -> str:
    """What a reader must know of the data that the failure needs."""
    names = " and ".join("the standard input" if name == STDIN else name for name in found.names)
    if not included:
        return f"It reads {names} of the program, which is private and not included; `--include-data` puts it in."
    if found.in_text:
        return "Strings that the program had at run time stand in it as they were (`--include-data`)."
    left = [word for word in found.words if word in script.text]
    if not left and not any(name in script.text for name in found.names):
        return ""
    quoted = ", ".join(f"`{word}`" for word in left[:12]) or "its bytes"
    return f"Of {names} it holds as it was (`--include-data`): {quoted}; the rest is made up."


def _package(node: Any) -> str:
    return str(getattr(node, "module", None) or node.names[0].name).split(".")[0]
