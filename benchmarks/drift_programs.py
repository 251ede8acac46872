"""Random programs with several planted faults, one of which is the target: the one that the script shows.

A program is a text and the faults of a compiler (`planted/planted_faults.py`), both made from a seed alone. The faults
beside the target, its *decoys*, lie in wait where a reducer goes: behind a mask that the script has and a slice has not,
in a result that the script looks at later or not at all, behind the target's exception, or under a condition that only a
smaller program meets (an operation by itself, next to an input, on few elements, in single precision). Decoys have other
kinds than the target, or the text of another exception. Whether the target indeed decides is for `drift_judge` to say; a
program where it does not is made anew with the next `attempt`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from drift_operations import OPERATIONS, PLANTABLE, Operation

KINDS = ("values", "nan", "dtype", "strides", "exception", "abort", "segfault")
WEIGHTS = (3, 3, 2, 2, 2, 1, 1)  # how often each is the target: a wrong result drifts most easily
ENDS = ("exception", "abort", "segfault")  # of these a script sees one only
HIDDEN_WHEN = ("fed", "last", "alone", "small", "single")
MASKS = {
    "values": ("torch.where({u} > 1e9, {d}, {u})", "{u} + {d}[:, :0].sum()"),
    "nan": ("torch.where({u} > 1e9, {d}, {u})", "{u} + {d}[:, :0].sum()", "{u} + torch.nan_to_num({d}) * 0.0"),
    "dtype": ("torch.where({d} > 0.125, {u}, -{u})",),
    "strides": ("torch.where({d} > 0.125, {u}, -{u})", "{u} - {d}"),
}
SHAPES = ((4, 6), (3, 8), (5, 5), (2, 12))
# One skeleton, and a word that tells.
COMPLAINT = "planted: the {} of the {} operand is not supported by this kernel"
PARTS, PLACES = ("layout", "extent", "offset", "rank"), ("first", "second", "outer", "inner")
CHECKS = {
    "strides": ("assert [each.stride() for each in got] == [each.stride() for each in want]", ""),
    "dtype": ("torch.testing.assert_close({got}, {want})", "assert got[0].dtype == want[0].dtype", ""),
    "values": (
        "torch.testing.assert_close({got}, {want})",
        "assert torch.allclose(got[0].double(), want[0].double(), equal_nan=True)",
        "",
    ),
}


@dataclass(frozen=True)
class Fault:
    """What is wrong with one operation of the compiler, as planted_faults reads it."""

    name: str
    op: str
    kind: str
    when: str = "always"
    words: str = ""


@dataclass(frozen=True)
class Program:
    """A script and the faults under it, in the order in which they apply. The target is the one named so.

    `silent`: a wrong result that the script itself does not look at.
    """

    seed: int
    attempt: int
    source: str
    faults: tuple[Fault, ...]
    steps: int
    silent: bool = False

    @property
    def target(self) -> Fault:
        return next(fault for fault in self.faults if fault.name == "target")


def program(seed: int, attempt: int = 0) -> Program:
    """The program of this seed; the same text whenever it is asked for."""
    (kind,) = random.Random(f"kind {seed}").choices(KINDS, WEIGHTS)
    return _Making(random.Random(f"{seed}/{attempt}")).made(seed, attempt, kind)


@dataclass
class _Making:
    """A body that grows. `values` are the names so far, by letter; `used` those that something reads."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    plain: list[Operation] = field(default_factory=list)

    def made(self, seed: int, attempt: int, kind: str) -> Program:
        rng = self.rng
        self.values = {"f": ["x0", "x1", "x2"], "b": ["m0"], "i": ["k0"], "c": []}
        own, *spare = rng.sample(PLANTABLE, 8)
        self.plain = [each for each in OPERATIONS if each.name not in {own.name, *(op.name for op in spare)}]
        self._grow(rng.randint(3, 10))
        bad = self._step(own)
        self._grow(rng.randint(2, 8))
        target = Fault("target", own.name, kind, words=complaint(0, rng))
        decoys, later = self._decoys(target, spare)
        faults = order((target, *decoys))
        double = any(fault.when == "single" for fault in faults) or rng.random() < 0.4
        check = rng.choice(CHECKS.get(kind, CHECKS["values"])) if kind not in ENDS else ""
        script = self._script(check, self._results(bad, kind, later), double)
        return Program(seed, attempt, script, faults, len(self.lines), silent=not check and kind not in ENDS)

    # -- the body ---------------------------------------------------------------------------------------------------

    def _grow(self, count: int) -> None:
        for _ in range(count):
            self._step(self.rng.choice([each for each in self.plain if all(self.values[one] for one in each.takes)]))

    def _step(self, operation: Operation) -> str:
        """One more line; mostly it reads what nobody has read."""
        return self._line(operation.text.format(*[self._pick(letter) for letter in operation.takes]), operation.gives)

    def _line(self, text: str, letter: str = "f") -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values[letter].append(name)
        return name

    def _pick(self, letter: str) -> str:
        known = self.values[letter]
        fresh = [name for name in known if name not in self.used]
        name = self.rng.choice(fresh if fresh and self.rng.random() < 0.7 else known)
        self.used.add(name)
        return name

    def _results(self, bad: str, kind: str, later: Sequence[str]) -> list[str]:
        """What the program returns: the target's value goes into the first, unchanged where a layout must be seen.

        Whatever nobody has read yet is added to the first result or to the last, so that every operation is needed.
        """
        self.used.update([bad, *later])
        rest = self._sum([name for letter in "fcb" for name in self.values[letter] if name not in self.used])
        if kind == "strides" or self.rng.random() < 0.2:
            return [bad, *later, *([rest] if rest else [])]
        for _ in range(self.rng.randint(0, 2)):
            bad = self._line(self.rng.choice(("{} - 0.25", "{} * 0.5", "{} + 1.0")).format(bad))
        return [self._line(f"{bad} + {rest or 'x0'}"), *later]

    def _sum(self, names: Sequence[str]) -> str:
        """All of these in one value; a mask decides about a sign."""
        total = ""
        for name in names:
            if name in ("x0", "x1", "x2", "m0"):
                continue
            if name in self.values["b"]:
                total = self._line(f"torch.where({name}, {total or 'x0'}, x1)")
            else:
                total = self._line(f"{total} + {name}") if total else name
        return total

    # -- decoys -----------------------------------------------------------------------------------------------------

    def _decoys(self, target: Fault, spare: list[Operation]) -> tuple[list[Fault], list[str]]:
        """One to four, each of another kind, and the results that only they need."""
        kinds = [kind for kind in KINDS if kind != target.kind]
        self.rng.shuffle(kinds)
        if target.kind == "exception":
            kinds.insert(0, "exception")
        found, more = [], []
        for number, kind in enumerate(kinds[: self.rng.randint(1, 4)]):
            fault, result = self._decoy(f"decoy{number}", kind, target, spare.pop())
            found.append(fault)
            more += [result] if result else []
        return found, more

    def _decoy(self, name: str, kind: str, target: Fault, own: Operation) -> tuple[Fault, str]:
        """(the fault, a result that is to be returned for it, if any)."""
        words = complaint(1 + int(name[-1]), self.rng)
        behind = target.kind in ENDS
        way = self.rng.choice(("hidden", "same", "open" if behind else "masked", "open" if behind else "later"))
        if way == "same":  # the target's own operation, when it is met in other circumstances
            return Fault(name, target.op, kind, self.rng.choice(HIDDEN_WHEN), words), ""
        when = "always"
        if way == "hidden" or (kind in ENDS and not behind):
            when = self.rng.choice(HIDDEN_WHEN)
        bad = self._step(own)
        if way == "masked" and kind in MASKS:
            self._mask(bad, kind)
            return Fault(name, own.name, kind, when, words), ""
        if way == "later" and kind not in ENDS:
            return Fault(name, own.name, kind, when, words), bad
        return Fault(name, own.name, kind, when, words), bad if self.rng.random() < 0.3 else ""

    def _mask(self, bad: str, kind: str) -> None:
        """What a mask gives is what is read next."""
        self.used.add(bad)
        self._line(self.rng.choice(MASKS[kind]).format(u=self._pick("f"), d=bad))

    # -- the text ---------------------------------------------------------------------------------------------------

    def _script(self, check: str, results: Sequence[str], double: bool) -> str:
        rows, columns = self.rng.choice(SHAPES)
        dtype = ", dtype=torch.float64" if double else ""
        inputs = (
            *(f"torch.randn({rows}, {columns}{dtype})" for _ in range(3)),
            f"torch.rand({rows}, {columns}) > 0.5",
            f"torch.randint(0, {columns}, ({rows}, {columns}))",
        )
        every = self.rng.random() < 0.5
        names = ("got", "want") if every else ("got[0]", "want[0]")
        return (
            SCRIPT.format(
                body="\n".join(f"    {line}" for line in self.lines),
                results=", ".join(results) + ",",
                inputs=",\n".join(f"    {each}" for each in inputs),
                check=check.format(got=names[0], want=names[1]),
            ).rstrip("\n")
            + "\n"
        )


SCRIPT = """\
import torch


def f(x0, x1, x2, m0, k0):
{body}
    return ({results})


torch.manual_seed(0)
args = (
{inputs},
)
want = f(*args)
got = torch.compile(f, backend="aot_eager")(*args)
{check}
"""


def complaint(number: int, rng: random.Random) -> str:
    """Texts of one program differ by a word or two, never in none: `number` is part of what is chosen."""
    return COMPLAINT.format(PARTS[number % 4], PLACES[rng.randrange(4)])


def order(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Those under a condition first, so that they may take an operation from one that always holds."""
    return tuple(sorted(faults, key=lambda fault: fault.when == "always"))
