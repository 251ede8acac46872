"""Where no made-up data fails the same way: which of the program's own words are needed.

The text is searched for the fewest words that must stay as they are. What is run for that is never shown: with
`--include-data` the words go into the reproducer, without it the reproducer reads the person's file, which is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from triage.judge.asking import Judge
from triage.reduce.text.code.script import Script, after_future
from triage.reduce.text.code.tidy import cleaned
from triage.reduce.text.data.files import Data, without_data
from triage.reduce.text.starts.texts import KnownFailure, starts
from triage.reduce.text.watching.evidence import Trace

MOST_QUERIES = 40
FEW_LINES = (1, 2, 4, 8)
_MARK = "__data__ = 0\n"
VALUES = "the values that the failing function was called on"


@dataclass(frozen=True)
class Needed:
    """A script that fails with data of the program. `script` reads it, `prelude` provides it, `names` say which files.

    `words` are what must stand there as it is. `in_text` is set where the words are in the script itself.
    """

    script: Script
    prelude: str
    names: tuple[str, ...]
    words: tuple[str, ...]
    in_text: bool = False

    def whole(self) -> Script:
        """The script with its data."""
        return _filled(self.script, self.prelude)

    def told(self) -> str:
        """What is needed, for a sentence."""
        return VALUES if self.in_text else ", ".join(self.names)


def needed(driver: Judge[Script], trace: Trace, data: Data, asked: KnownFailure) -> Needed | None:
    """What fails with the program's own data, and with how little of it; None where nothing does.

    Raises StopReductionError where the time is spent.
    """
    masked = without_data(trace, data.public)
    if data.files:
        for base in _bases(masked, asked):
            if driver.fails(_filled(base, data.verbatim())):
                return _fewest(driver, base, data)
    if masked == trace:
        return None
    for base in _bases(trace, asked):
        if driver.fails(_filled(base, data.verbatim())):
            return Needed(base, data.verbatim(), (), (), in_text=True)
    return None


def fewest(words: Sequence[str], fails: Callable[[Sequence[str]], bool]) -> list[str]:
    """The words without those that are not needed: halves, quarters, ... single ones, in a bounded number of questions."""
    kept, size, most = list(words), max(1, len(words) // 2), MOST_QUERIES
    while most > 0 and kept:
        place = 0
        while place < len(kept) and most > 0:
            fewer = kept[:place] + kept[place + size :]
            most -= 1
            if fails(fewer):
                kept = fewer
            else:
                place += size
        if size == 1:
            break
        size = max(1, size // 2)
    return kept


def _fewest(driver: Judge[Script], base: Script, data: Data) -> Needed:
    data = next(
        (less for lines in FEW_LINES if driver.fails(_filled(base, (less := data.shortened(lines)).verbatim()))), data
    )

    def fails(words: Sequence[str]) -> bool:
        return driver.fails(_filled(base, data.verbatim(words)))

    kept = fewest(data.words(), fails)
    bare = Script(base.text.replace(_MARK, "", 1))
    return Needed(bare, data.verbatim(kept), data.withheld(kept), tuple(kept))


def _bases(trace: Trace, asked: KnownFailure) -> list[Script]:
    """Texts of the whole program, with a mark in the place of what provides its data."""
    return [script for script in starts(trace, asked, [_MARK]) if _MARK in script.text]


def _filled(script: Script, prelude: str) -> Script:
    text = script.text.replace(_MARK, "", 1)
    return Script(cleaned(after_future(Script(text), prelude)))
