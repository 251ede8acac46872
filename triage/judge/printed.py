"""What a program prints, logs and writes into files: which lines tell results, and which of them differ from another run's, by
their numbers or their words.

A program may raise nothing and still be wrong; what it tells is then all that shows it. Times and what else is another number
in each run counts for nothing (`measured.py`), nor does what rounding may explain, nor what is counted of the compiler.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from triage.judge.judgement import CandidateResult
from triage.judge.measured import ANY_NUMBER, GONE, is_measured, without_measured
from triage.judge.signature import signature_of
from triage.model import accuracy
from triage.model.outcome import Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.model.text import clip

BEYOND = 1e-2  # a relative difference that rounding does not make within a step
NEARLY_NOTHING = 1e-4  # and an absolute one: `largest difference 1e-7` where the uncompiled run prints 0.0
REPEATS = 1e-3  # the uncompiled run must print the same twice
# Dynamo alone computes with eager's own kernels: less counts where two compiled runs are so many times closer to each other in
# most lines (rounding that grew is another in each backend), and as long as it is no matter of the last digits that are printed.
FINELY, CLOSER, MOST, LAST_DIGITS = 1e-3, 30, 2 / 3, 5
ONE_DIGIT = 1.5  # units of it: rounding makes one of nearly nothing
MOST_WORDS = 100

_NUMBER = re.compile(
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
_TOKEN = re.compile(r"\w+|\S")
_DIGITS = re.compile(r"\d+")

_BOTH = (  # what `words_of` tells, and what torch.testing.assert_close says of two numbers
    re.compile(r"it (?:prints|writes) `(.*)` where the uncompiled run (?:prints|writes) `(.*)`", re.DOTALL),
    re.compile(r"Expected (\S+) but got (\S+?)\.?(?:\s|$)"),
)
_NO_DISTANCE = re.compile(r"Greatest absolute difference: (?:nan|inf)\b")  # of two tensors, as it says


class Line(NamedTuple):
    """A line that was printed, the numbers in it that tell results (integers last), and the rest of it."""

    text: str
    numbers: tuple[float, ...]
    words: str
    integers: int = 0  # how many of the numbers are
    file: str = ""  # that it was written into, by its name
    unsteady: frozenset[int] = frozenset()  # the places of those that are others in each run (`steadied`)
    counts: bool = True  # whether anything of it is the same in each


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
    numbers = _NUMBER.findall(told)
    if (numbers_only and not numbers) or _DRAWN.search(text):
        return None
    integers = [] if numbers_only else _INTEGER.findall(_NUMBER.sub("", told))
    words = _LIST_OF_WORDS.sub("[]", _QUOTED.sub("'", told))
    shape = "".join(ANY_NUMBER.sub("#", words).split())  # a sign takes the place of a space
    words = "" if numbers_only else "".join(ANY_NUMBER.sub("#", told).split())
    return shape, Line(text, tuple(map(float, [*numbers, *integers])), words, len(integers))


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
    return any(line.numbers for line in lines.values())


def differing(one: Lines, other: Lines, relative: float = BEYOND) -> list[Key]:
    """The lines of the first, in their order, that the other has as well, with another number or other words.

    Not of those that one run printed more often than the other.
    """
    return [key for key, line in _beside(one, other).items() if _line_differs(one[key], line, relative)]


def agreeing(one: Lines, other: Lines, relative: float = BEYOND) -> list[Key]:
    """The lines of the first that the other has as well, no number and no word of them another."""
    beside = _beside(one, other).items()
    return [key for key, line in beside if one[key].counts and not _line_differs(one[key], line, relative)]


def steadied(one: Lines, other: Lines, relative: float = BEYOND) -> Lines:
    """The lines of the first, with what is another number in the other run as `unsteady`, in each that reads so: an index, the
    name of a run, a time that nothing tells as one. Lines that it has not, or in other words, do not count any more, nor do those
    of which no number is left.
    """
    beside, unsteady = _beside(one, other), dict[str, set[int]]()
    off = {key: _places(one[key], line, relative) for key, line in beside.items()}
    for (shape, _), places in off.items():
        unsteady.setdefault(shape, set()).update(places or ())

    def steady(key: Key) -> Line:
        line = one[key]
        gone = line.unsteady | unsteady.get(key[0], set())
        left = off.get(key) is not None and (not line.numbers or len(gone) < len(line.numbers))
        return line._replace(unsteady=gone, counts=line.counts and left)

    return {key: steady(key) for key in one}


def _places(one: Line, other: Line, relative: float) -> list[int] | None:
    """Which numbers are others; none of a set in another order. None where the words are others."""
    if not _line_differs(one, other, relative):
        return []
    if one.words != other.words or len(one.numbers) != len(other.numbers):
        return None
    return _off_places(one, other, relative)


def _beside(one: Lines, other: Lines) -> dict[Key, Line]:
    """Lines of the other run by those of the first that they are: those that read alike but for numbers and what is quoted.

    Where both print equally many, also those in one place of which neither run prints the other's anywhere: with other words.
    Lines of which words tell nothing are none of them.
    """
    lengths = [dict(lines.keys()) for lines in (one, other)]  # of each shape the last number
    found = {
        key: other[key]
        for key, line in one.items()
        if key in other and lengths[0][key[0]] == lengths[1][key[0]] and len(line.numbers) == len(other[key].numbers)
    }
    worded, its_worded = ([(key, line) for key, line in lines.items() if line.words] for lines in (one, other))
    if len(worded) != len(its_worded):
        return found
    told = [{line.text for line in lines.values()} for lines in (one, other)]
    for (key, line), (place, its) in zip(worded, its_worded, strict=True):
        if key[0] != place[0] and line.text not in told[1] and its.text not in told[0]:
            found[key] = its
    return found


def _line_differs(one: Line, other: Line, relative: float) -> bool:
    """Whether a number or a word is another. Words and integers in another order are not: those of a set are, in each process."""
    if not (one.counts and other.counts):
        return False
    if one.words != other.words or len(one.numbers) != len(other.numbers):
        return _tokens(one) != _tokens(other)
    off = _off_places(one, other, relative)
    if any(place < len(one.numbers) - one.integers for place in off):
        return True
    return bool(off) and _tokens(one) != _tokens(other)


def _off_places(one: Line, other: Line, relative: float) -> list[int]:
    unsteady = one.unsteady | other.unsteady
    pairs = enumerate(zip(one.numbers, other.numbers, strict=True))
    return [place for place, (a, b) in pairs if place not in unsteady and _differ(a, b, relative)]


def finely_differing(one: Lines, other: Lines) -> list[Key]:
    """The lines of the first, in their order, that the other has as well, with a number that is off by more than `FINELY`."""
    return [key for key, line in _beside(one, other).items() if any(_off(one[key], line))]


def finely_alike(keys: Sequence[Key], uncompiled: Lines, one: Lines, other: Lines) -> list[Key]:
    """Those of the lines in which both compiled runs are off so from the uncompiled one, and far closer to each other.

    None where that is not so of most lines in which the other is off: each may be so by chance.
    """
    mine, its = _beside(uncompiled, one), _beside(uncompiled, other)
    off = finely_differing(uncompiled, other)

    def is_alike(key: Key) -> bool:
        far = _off(uncompiled[key], its[key])
        near = _distances(mine[key], its[key], 0.0, ONE_DIGIT)
        return all(CLOSER * b <= a for a, b in zip(far, near, strict=False) if a)

    found = [key for key in off if key in mine and is_alike(key)]
    return [key for key in keys if key in found] if len(found) >= MOST * len(off) else []


def _off(one: Line, other: Line) -> list[float]:
    return _distances(one, other, FINELY, LAST_DIGITS)


def _distances(one: Line, other: Line, relative: float, digits: float) -> list[float]:
    """How far apart each two finite numbers with a point are; nought for less than that, or so many units of a last digit."""
    found, unsteady = [], one.unsteady | other.unsteady
    for place, texts in enumerate(zip(_with_point(one), _with_point(other), strict=False)):
        a, b = map(float, texts)
        least = max(relative * max(abs(a), abs(b)), digits * max(map(_last_digit, texts)))
        counts = one.counts and other.counts and place not in unsteady
        found.append(abs(a - b) if counts and math.isfinite(a - b) and abs(a - b) > least else 0.0)
    return found


def _with_point(line: Line) -> list[str]:
    return _NUMBER.findall(_BACKWARD.sub("grad_fn", line.text))


def _last_digit(text: str) -> float:
    """What one more in the last digit is: 0.01 of `3.76`, 1e-5 of `2.5e-4`."""
    exponent = Decimal(text).as_tuple().exponent
    return 10.0**exponent if isinstance(exponent, int) else 0.0


def _tokens(line: Line) -> list[str]:
    return sorted(_TOKEN.findall(_BACKWARD.sub("grad_fn", line.text)))


def _differ(one: float, other: float, relative: float) -> bool:
    if not (math.isfinite(one) and math.isfinite(other)):
        return one != other and not (math.isnan(one) and math.isnan(other))
    return abs(one - other) > relative * max(abs(one), abs(other)) + NEARLY_NOTHING * (relative / BEYOND)


def alike(keys: Sequence[Key], uncompiled: Lines, one: Lines, other: Lines) -> list[Key]:
    """Those of the lines that two compiled runs print alike, and otherwise than uncompiled: no time that nothing tells as one.

    What is `unsteady` uncompiled may be another number in each.
    """
    differs, mine, its = differing(uncompiled, other), _beside(uncompiled, one), _beside(uncompiled, other)

    def is_alike(key: Key) -> bool:
        return not _line_differs(mine[key]._replace(unsteady=uncompiled[key].unsteady), its[key], BEYOND)

    return [key for key in keys if key in differs and key in mine and is_alike(key)]


def words_of(uncompiled: Lines, compiled: Lines, key: Key) -> str:
    """What is wrong, by this line of both."""
    lines = (_beside(uncompiled, compiled)[key], uncompiled[key])
    unsteady = lines[0].unsteady | lines[1].unsteady
    one, other = (clip(_without_places(line, unsteady), MOST_WORDS) for line in lines)
    does = verb_of(lines[0])
    into = f" into {lines[0].file}" if lines[0].file else ""
    return f"it {does} `{one}` where the uncompiled run {does} `{other}`{into}"


def _without_places(line: Line, places: Collection[int]) -> str:
    """The line with `…` for those of its numbers."""
    told = _BACKWARD.sub("grad_fn", line.text)
    found = [match.span() for match in _NUMBER.finditer(told)]
    found += [match.span() for match in _INTEGER.finditer(_NUMBER.sub(lambda match: " " * len(match[0]), told))]
    gone = {found[place] for place in places if place < len(found)}
    for start, end in sorted(gone, reverse=True):
        told = told[:start] + GONE + told[end:]
    return told if places else line.text


def verb_of(line: Line) -> str:
    return "writes" if line.file else "prints"


def is_no_number(message: str) -> bool:
    """Whether, by what is said of two runs, one has a NaN or an infinity where the other has something else.

    >>> is_no_number("Expected 0.0 but got nan. Absolute difference: nan"), is_no_number("Expected 0.0 but got 0.82.")
    (True, False)
    """
    told = next(filter(None, (pattern.search(message) for pattern in _BOTH)), None)
    if told is None:
        return _NO_DISTANCE.search(message) is not None
    one, other = (map(float, _NUMBER.findall(text)) for text in told.groups())
    pairs = zip(one, other, strict=False)  # long lines are cut short
    return any(_differ(a, b, REPEATS) for a, b in pairs if not (math.isfinite(a) and math.isfinite(b)))


def otherwise(outcome: Outcome, words: str) -> Outcome:
    """The outcome of a run that passed but for what it printed, as a wrong result."""
    error = RaisedException(accuracy.TYPE, words, phase=accuracy.PRINTED)
    return replace(outcome, kind=OutcomeKind.WRONG_RESULT, exception=error)


def judged_beside(results: Sequence[CandidateResult], uncompiled: CandidateResult) -> list[CandidateResult]:
    """Runs of one text; those that passed are wrong results where all of these print alike, and otherwise than uncompiled."""
    passed = [result for result in results if result.outcome.kind is OutcomeKind.OK]
    right = results_in(uncompiled)
    if not passed or uncompiled.outcome.kind is not OutcomeKind.OK:
        return list(results)
    first, *rest = [results_in(result) for result in passed]
    for lines in rest:
        first = steadied(first, lines)
    keys = differing(right, first)
    if not keys:
        return list(results)
    words = words_of(right, first, keys[0])
    return [as_wrong(result, words) if result.outcome.kind is OutcomeKind.OK else result for result in results]


def as_wrong(result: CandidateResult, words: str) -> CandidateResult:
    outcome = otherwise(result.outcome, words)
    return replace(result, outcome=outcome, signature=signature_of(outcome))
