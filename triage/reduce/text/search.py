"""Tries what the passes propose, in rounds, until a whole round brings nothing or the time is over.

Choices that are independent are merged and halved (so many at once cost one query), others are tried one after the other.
No pass may eat the time of the rest: each has a share of what is left, and one that stops paying is left for this round.
What is decided depends on the answers alone and comes in a fixed order, so it does not depend on how many run at once.

What was tried in vain a later round need not ask again while nothing around it has changed: most of what a round proposes was
proposed in the round before. An edit is the same again if it makes the same lines of the same lines, and what it takes away is
named as often elsewhere as it was: a definition may go once its last use has gone. That is a guess, good enough until a last
round asks everything (of 346 such edits of one search, one had become possible).
"""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from triage.judge.asking import Budget, Judge, LateError
from triage.model.stage import Verdict
from triage.reduce.text.code.edits import compatible
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.finish.comments import without_stale
from triage.reduce.text.leftovers import without_leftovers
from triage.reduce.text.passes import BRACKETS, FEWER, LITERALS, POLISH, STATEMENTS, STRUCTURE, TABLE, UNREAD, Pass
from triage.reduce.text.passes.choice import Choice
from triage.reduce.text.passes.statements import at_depth, depths, runs

MOST_ROUNDS = 12
PATIENCE = 40  # candidates in a row that bring nothing, before a pass is left
LEAST_SHARE_SECONDS = 8.0
_UNREAD = next(one for one in TABLE if one.name == UNREAD)


class Search:
    """The search from one failing script. `current` is the smallest found from there, at every moment."""

    def __init__(self, driver: Judge[Script], jobs: int, budget: Budget) -> None:
        self._driver, self._jobs, self._budget = driver, max(1, jobs), budget
        self._deadline = float("inf")
        self._dry = 0
        self._rejected = RejectedEdits()
        self.current = Script("")

    def reduce(self, start: Script, rounds: int = MOST_ROUNDS) -> bool:
        """Make `current` as small as the passes can. True where a last round showed that none can make it smaller.

        Literals wait for a second round, as each of them is a query, and what goes as a whole takes its own along.
        Between full rounds only the passes that paid in the round before are tried, or whose time ended there, with those of
        structure, whose few new choices mostly come of what others changed; and until the last one nothing that was tried in
        vain: that one must show the end.
        """
        self.current = start
        paying = [one for one in TABLE if one.name != LITERALS]
        self._rejected.ignored = False
        for number in range(rounds):
            full = len(paying) == len(TABLE)
            due, finished = self._round(paying, kept=int(number == 0))
            if full and not due and self._rejected.ignored:
                return finished
            self._rejected.ignored = full and not due
            if number == 0:
                due += [one for one in TABLE if one.name == LITERALS]
            again = [one for one in TABLE if one in due or one.name in STRUCTURE]
            paying = again if due and number + 2 < rounds else list(TABLE)
        return False

    def fewer_statements(self, start: Script, *, first: bool = False) -> None:
        """Only what takes whole statements and entries of tables away, once: for a script that is not to be rewritten, or that
        will change again (`first`): then half of the time is left.
        """
        self.current = start
        self._round(FEWER, kept=sum(one.shares for one in FEWER) if first else 0)

    def polish(self, known: Collection[str] | None = None) -> None:
        """What changes the whole text and lets nothing else become smaller: once, at the end.

        `known` are the lines of the program: comments on others go.
        """
        for one in POLISH:
            if one.name == BRACKETS and known is not None:
                self._without_stale_comments(known)  # they would keep lines apart
            self._begin(1.0)
            self._driver.begin(one.name)
            self._run(one)

    def _without_stale_comments(self, known: Collection[str]) -> None:
        self._driver.begin("comments")
        less = without_stale(self.current, known)
        if less.text != self.current.text and self._driver.fails(less):
            self.current = less

    def _round(self, passes: Sequence[Pass], kept: int = 0) -> tuple[list[Pass], bool]:
        """These passes once: which are to be tried again, as they paid or were short of time, and whether all came to their end.

        `kept` shares of the time are left for a later round: the first one ends with expressions, of which each is a query, and
        what a simpler one lets the structure lose is worth more than the rest of them.
        """
        finished = True
        due: list[Pass] = []
        for number, one in enumerate(passes):
            self._begin(one.shares / (sum(other.shares for other in passes[number:]) + kept))
            self._driver.begin(one.name)
            before = self.current
            self._run(one)
            finished = finished and not self._over()
            if self.current.text != before.text or self._out_of_time():
                due.append(one)
            if self.current.text != before.text:
                self.without_unread()
        return due, finished

    def without_unread(self) -> None:
        """What only served what has just gone: mostly nothing, else one query, where the other passes need one for each."""
        choices = list(_UNREAD.propose(self.current))
        if choices:
            self._driver.begin(_UNREAD.name)
            self._dry = 0
            self._settle(choices)

    def without_leftovers(self) -> None:
        """Of the best so far what nothing reads any more, where time ended: half of what is left is for what comes after."""
        best = self._driver.best
        if best is None:
            return
        self._driver.begin("leftovers")
        with contextlib.suppress(LateError), self._driver.until(time.monotonic() + self._budget.left() / 2):
            self._driver.first(without_leftovers(best.candidate))
        self.current = (self._driver.best or best).candidate

    # -- one pass -------------------------------------------------------------------------------------------------

    def _statements(self) -> None:
        self._settle(at_depth(self.current, 0))
        self._singly(runs)
        depth = 1
        while depth < depths(self.current) and not self._out_of_time():
            self._settle(at_depth(self.current, depth))
            depth += 1

    def _run(self, one: Pass) -> None:
        if one.name == STATEMENTS:
            self._statements()
        elif one.together:
            self._settle(list(one.propose(self.current)))
        else:
            self._singly(one.propose)

    def _settle(self, choices: Sequence[Choice]) -> None:
        """Of each choice, make the first alternative after which the failure is still there."""
        base, kept = self.current, list[Edit]()
        left = [[edits for edits in choice.alternatives if not self._rejected.has(base, edits)] for choice in choices]

        def built(extra: Iterable[Edit]) -> Script | None:
            return self._smaller(base, [*kept, *extra])

        def go(items: Sequence[Choice]) -> None:
            if not items or self._over():
                return
            if len(items) == 1:
                usable = [list(edits) for edits in items[0].alternatives if compatible(edits, kept)]
                pairs = [(edits, script) for edits in usable if (script := built(edits)) is not None]
                found = self._first([script for _, script in pairs])
                for edits, script in pairs:
                    if script is found:
                        kept.extend(edits)
                        return
                    self._rejected.add(base, edits)
                return
            middle = len(items) // 2
            together = _merged(items, kept)
            merged, half = built(together), built(_merged(items[:middle], kept))
            self._driver.ahead(script for script in (merged, half) if script is not None)
            if merged is not None and self._first([merged]) is not None:
                kept.extend(together)
                return
            go(items[:middle])
            go(items[middle:])

        go([Choice(tuple(alternatives)) for alternatives in left if alternatives])

    def _singly(self, propose: Callable[[Script], Iterable[Choice]]) -> None:
        """One after the other; after a success what is proposed from there on is seen anew."""
        place = 0
        while not self._over():
            flat = [edits for choice in propose(self.current) for edits in choice.alternatives]
            found = None
            while place < len(flat) and found is None and not self._over():
                batch: list[Script] = []
                tried = list[int]()
                before = self.current
                while place < len(flat) and len(batch) < self._jobs:
                    known = self._rejected.has(before, flat[place])
                    script = None if known else self._smaller(before, flat[place])
                    if script is not None and self._is_news(script):
                        batch.append(script)
                        tried.append(place)
                    place += 1
                found = self._first(batch)
                failed = tried if found is None else tried[: batch.index(found)]
                for one in failed:
                    self._rejected.add(before, flat[one])
                if found is not None:
                    place = tried[len(failed)]
            if found is None:
                return

    # -- trying ---------------------------------------------------------------------------------------------------

    def _smaller(self, base: Script, edits: Iterable[Edit]) -> Script | None:
        """The edited script, if it parses and is smaller than the current one."""
        chosen = list(dict.fromkeys(edits))
        if not compatible_within(chosen):
            return None
        script = Script(tidy(base.replaced(chosen)))
        try:
            return script if script.weight() < self.current.weight() else None
        except (SyntaxError, ValueError):
            return None

    def _is_news(self, script: Script) -> bool:
        """Not what is known to bring nothing: so a pass that was left goes on where it stopped."""
        known = self._driver.remembered(script)
        return known is None or known.verdict is Verdict.SAME_FAILURE

    def _first(self, scripts: Sequence[Script]) -> Script | None:
        scripts = [script for script in scripts if self._is_news(script)]
        if not scripts:
            return None
        found = self._driver.first(scripts)
        if found is None:
            self._dry += len(scripts)
        else:
            self._dry, self.current = 0, found
        return found

    def _begin(self, share: float) -> None:
        self._dry = 0
        left = self._budget.left()
        self._deadline = time.monotonic() + max(LEAST_SHARE_SECONDS, left * share)

    def _out_of_time(self) -> bool:
        return time.monotonic() > self._deadline

    def _over(self) -> bool:
        patience = max(PATIENCE, 4 * depths(self.current), len(self.current.tree.body) * 2)
        return self._out_of_time() or self._dry > patience


def _merged(choices: Sequence[Choice], kept: Sequence[Edit]) -> list[Edit]:
    """The simplest alternative of every choice at once, leaving out what does not go with the others."""
    edits: list[Edit] = []
    for choice in choices:
        simplest = choice.alternatives[0]
        if compatible(simplest, [*kept, *edits]):
            edits += simplest
    return edits


def compatible_within(edits: Sequence[Edit]) -> bool:
    """Whether no two of these edits touch."""
    ordered = sorted(edits)
    return all(one.end <= other.start and one != other for one, other in itertools.pairwise(ordered))


_WORD = re.compile(r"[A-Za-z_]\w*")
Known = tuple[tuple[tuple[str, str], ...], tuple[tuple[str, int], ...]]


class RejectedEdits:
    """Edits after which the failure was gone: later rounds leave them out, unless `ignored` (then everything is asked again)."""

    def __init__(self) -> None:
        self.ignored = False
        self._known: set[Known] = set()
        self._text, self._counts = "", Counter[str]()

    def has(self, script: Script, edits: Collection[Edit]) -> bool:
        return not self.ignored and self._key(script, edits) in self._known

    def add(self, script: Script, edits: Collection[Edit]) -> None:
        self._known.add(self._key(script, edits))

    def _key(self, script: Script, edits: Iterable[Edit]) -> Known:
        changes = tuple(_lines(script.text, edit) for edit in sorted(edits))
        gone = {word for old, new in changes for word in set(_WORD.findall(old)) - set(_WORD.findall(new))}
        if script.text != self._text:
            self._text, self._counts = script.text, Counter(_WORD.findall(script.text))
        return changes, tuple(sorted((word, self._counts[word]) for word in gone))


def _lines(text: str, edit: Edit) -> tuple[str, str]:
    """The lines that an edit touches, before and after."""
    start = text.rfind("\n", 0, edit.start) + 1
    end = text.find("\n", max(edit.end - 1, edit.start))
    end = len(text) if end < 0 else max(end, edit.end)
    return text[start:end], text[start : edit.start] + edit.text + text[edit.end : end]
