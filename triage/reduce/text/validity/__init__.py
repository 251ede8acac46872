"""Whether a text is a program that a person could have written: judged before "the same failure", and without a run.

A pass may propose anything, and what it leaves may fail in the very same way for a reason that is no reason: a loop that
nothing ends hangs whatever the compiler does, a coroutine that nobody awaits never runs. Each rule counts what speaks
against a text; a candidate must not have more of it than the program itself has, which may be odd in its own way.
What only a run shows (a warning, an operator that breaks its contract, a file left behind) is judged in `checks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from triage.judge.judgement import RefusedError
from triage.reduce.text.code.script import Script
from triage.reduce.text.validity import hopeless, oddities, operators, seeding, values


@dataclass(frozen=True)
class Rule:
    """`flaws` yields a few words for each place that speaks against a text.

    `by_words`: what the program itself has is no flaw, but only that; otherwise as many of them may stand as it has.
    """

    name: str
    flaws: Callable[[Script], Iterator[str]]
    by_words: bool = False


RULES = (
    Rule("every loop can end", oddities.endless_loops),
    Rule("every coroutine is awaited", oddities.unawaited),
    Rule("modules are not called", oddities.called_modules),
    Rule("conditions ask something", oddities.asks_nothing),
    Rule("names are unique", oddities.doubled_names),
    Rule("Python warns of nothing", oddities.doubtful_syntax),
    Rule("custom operators keep their contract", operators.broken_operators),
    Rule("calls fit what they call", hopeless.misfit_calls),
    Rule("modules are initialised", hopeless.bare_modules),
    Rule("objects have the attributes that their methods read", hopeless.unset_attributes, by_words=True),
    Rule("what is unpacked has elements", hopeless.bad_unpacking),
    Rule("registrations are complete", operators.unfit_operators),
    Rule("operators are registered", operators.unknown_operators),
    Rule("kernels take what torch gives", operators.misfit_kernels),
    Rule("tensors and numbers are not called", values.called_values),
    Rule("numbers and lists have what is read of them", values.missing_attributes),
    Rule("torch.compile is given what can be called", values.compiled_values),
)
# Where the failure is the program's own check.
SEEDED = Rule("what was seeded stays seeded", seeding.unseeded, by_words=True)


@dataclass
class Validity:
    """The rules, with as many exceptions as the program itself has. Until one is named, anything goes."""

    rules: Sequence[Rule] = RULES
    allowed: dict[str, int] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)  # of rules that go by words
    named: bool = False

    def of(self, program: Script) -> None:
        """Candidates are made from this one: what is odd in it is no flaw of theirs."""
        for rule in self.rules:
            flaws = list(rule.flaws(program))
            if rule.by_words:
                self.own.update(flaws)
            else:
                self.allowed[rule.name] = max(len(flaws), self.allowed.get(rule.name, 0))
        self.named = True

    def check(self, script: Script) -> Script:
        """The same script. Raises RefusedError where a rule finds more than in the program, so that it costs no query."""
        for rule in self.rules if self.named else ():
            flaws = [flaw for flaw in rule.flaws(script) if not rule.by_words or flaw not in self.own]
            if len(flaws) > self.allowed.get(rule.name, 0):
                raise RefusedError(f"no valid program: {flaws[-1]}")
        return script
