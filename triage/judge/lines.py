"""The lines in which a program tells its results, read from what it prints, logs and writes into files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from triage.judge.judgement import CandidateResult
from triage.judge.measured import ANY_NUMBER, is_measured, without_measured

NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.\d*|\.\d+)(?:e[-+]?\d+)?|\d+e[-+]?\d+|nan|inf)(?!\w|\.\d)", re.IGNORECASE
)
_INTEGER = re.compile(r"(?<![\w.])[-+]?\d+(?![\w.]*\d|\w)")
# Words in quotes are values, as numbers are: of a list of them it does not tell a line how many there are.
_QUOTED = re.compile(r"(?<!\w)(?:'[^']*'|\"[^\"]*\")(?!\w)")
_LIST_OF_WORDS = re.compile(r"\['(?:, ')*\]")
# Of such a line, and of one on standard error, only what has a point is a result: integers and words in it are others where
# something is compiled, or at another time of the day.
_OF_COMPILER = re.compile(
    r"compil|dynamo|inductor|graph|frame|guard|cache|break|trace|backend|kernel|optimi[sz]edmodule|_orig_mod|"
    r"\d:\d\d|\d{4}-\d\d|<[\w. ]+ at |thread|process|worker",
    re.IGNORECASE,
)
# But `compiled [0, 60, -106]` beside `eager [0, 60, 150]` is a result: no count of the compiler's is told as an array.
_LABEL = re.compile(r"\b(?:compiled|inductor)\b", re.IGNORECASE)
_ARRAY = re.compile(r"\[[^\]]*\d[^\]]*\]|\b(?:tensor|array)\([^)]*\d")

_CLOCK = re.compile(r"(?<![\d-])\d{4}-\d\d-\d\d(?:T(?=\d))?|(?<![\d:])\d\d?:\d\d:\d\d(?:[.,]\d+)?(?![\d:])")
_DRAWN = re.compile(r"\d:\d\d<[\d:?]+")  # a progress bar on its way: how far it is hangs on the time
_NO_LOG = re.compile(r"Warning: |^[A-Z]\d{4} \d\d:|\d%\|")  # warnings, what torch itself logs, progress bars
# Of a bar that has come to its end, without what it says of time: `loss=0.25` of `9/9 [00:01<00:00, 8.1it/s, loss=0.25]`.
_END_OF_BAR = re.compile(r"(.*)100%\|[^|]*\|[^\[]*\[[^,\]]*,[^,\]]*, (.+)\]")
_BACKWARD = re.compile(r"grad_fn=<\w+>")  # of a tensor that is printed: what is compiled has one of its own
_DIGITS = re.compile(r"\d+")


class Line(NamedTuple):
    """A line that was printed, the numbers in it that tell results (integers last), and the rest of it."""

    text: str
    told: str  # the text, but for what a tensor's `grad_fn` is called
    spans: tuple[tuple[int, int], ...]  # of the numbers, in that
    words: str
    integers: int = 0  # how many of the numbers are
    file: str = ""  # that it was written into, by its name
    unsteady: frozenset[int] = frozenset()  # the places of those that are others in each run (`steadied`)
    counts: bool = True  # whether anything of it is the same in each

    @property
    def numbers(self) -> tuple[float, ...]:
        return tuple(float(self.told[start:end]) for start, end in self.spans)

    @property
    def points(self) -> int:
        """How many of the numbers have a point, or an exponent."""
        return len(self.spans) - self.integers


Key = tuple[str, int]  # the line without its numbers, and which of those that read so it is
Lines = Mapping[Key, Line]


def lines_of(printed: str, logged: str = "", written: str = "") -> Lines:
    """The lines that tell results, in their order; `logged` is what was on standard error, where programs log, `written` what
    files hold, each line behind the file's name (`probe/written.py`).
    """
    found: dict[Key, Line] = {}
    counts: dict[str, int] = {}
    told = [_line(text, logged=bar) for text, bar in _read(printed)]
    told += [_line(text, logged=True) for text, bar in _read(logged) if bar or not _NO_LOG.search(text)]
    for shape, line in filter(None, [*told, *map(_in_file, _stripped(written))]):
        counts[shape] = counts.get(shape, 0) + 1
        found[shape, counts[shape]] = line
    return found


def _in_file(text: str) -> tuple[str, Line] | None:
    """The line of a file. The file's name, which may hold a time, is none of what is compared."""
    name, _, told = text.partition(": ")
    found = _line(told, logged=False)
    return (f"{_DIGITS.sub('#', name)}:{found[0]}", found[1]._replace(file=name)) if found is not None else None


def _stripped(text: str) -> Iterator[str]:
    return filter(None, map(str.strip, text.splitlines()))


def _read(text: str) -> Iterator[tuple[str, bool]]:
    """The lines, and whether each is what a progress bar told at its end. How often one is drawn depends on the time: of each
    state one.
    """
    drawn: set[str] = set()
    for line in _stripped(text):
        bar = _END_OF_BAR.fullmatch(line)
        if bar is None:
            yield line, False
        elif (told := bar[1] + bar[2]) not in drawn:
            drawn.add(told)
            yield told, True


def _line(text: str, *, logged: bool) -> tuple[str, Line] | None:
    """The line, and what it reads but for numbers and quoted words; None where it tells no result."""
    numbers_only = logged or _is_of_compiler(_BACKWARD.sub("", text))
    text = _CLOCK.sub("", text).strip()
    told = _BACKWARD.sub("grad_fn", text)
    if is_measured(told):  # what is counted beside a time may hang on it
        text = told = without_measured(told) or ""
        numbers_only = True
    spans = [match.span() for match in NUMBER.finditer(told)]
    if (numbers_only and not spans) or _DRAWN.search(text):
        return None
    without = NUMBER.sub(lambda match: " " * len(match[0]), told)
    integers = [] if numbers_only else [match.span() for match in _INTEGER.finditer(without)]
    words = _LIST_OF_WORDS.sub("[]", _QUOTED.sub("'", told))
    shape = "".join(ANY_NUMBER.sub("#", words).split())  # a sign takes the place of a space
    words = "" if numbers_only else "".join(ANY_NUMBER.sub("#", told).split())
    return shape, Line(text, told, (*spans, *integers), words, len(integers))


def _is_of_compiler(text: str) -> bool:
    """Whether the line may tell of the compiler, which an uncompiled run has nothing to tell of.

    >>> _is_of_compiler("compiled 3 times"), _is_of_compiler("compiled: tensor([3])"), _is_of_compiler("graphs compiled: [3]")
    (True, False, True)
    """
    other = _LABEL.sub("", text) if _ARRAY.search(text) else text
    return _OF_COMPILER.search(other) is not None


def results_in(run: CandidateResult) -> Lines:
    """The lines of a run that tell results."""
    return lines_of(run.printed, run.logged, run.written)


def has_numbers(lines: Lines) -> bool:
    """Whether there is more than words in what was printed."""
    return any(line.spans for line in lines.values())


def verb_of(line: Line) -> str:
    return "writes" if line.file else "prints"
