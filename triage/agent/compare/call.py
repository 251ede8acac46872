"""One call of a compiled graph, judged: what is wrong with it, of which kind, and where.

The program's own call is what is judged (some failures come with the first call only), against eager on copies of its
inputs; gradients are those of another call. Most calls are settled by that. Where they are not close, eager is asked how sure
it is of itself: with other things in memory that nobody wrote, with every rounding nudged, in double precision, with other random
numbers; `rule` says what it then takes to blame the compiler. What random numbers hide that way is looked at once
more with the same ones on both sides (`drawn`). A mode that changes the result by being there at all (an
operation with a path of its own below autograd) is not used.
"""

import contextlib

from .. import compat
from . import measure, memory, modes, randomness, repeats, roundoff, rule, scalars, varying
from .copies import CannotCopyError, Copier
from .drawn import ByChance
from .run import AFTER, GRADIENT, Runner

FIRST_ROUND, SECOND_ROUND = 2, 22
TRIED = 4  # values that look wrong and are looked at again
SMALL = 5_000_000  # elements; of larger tensors fewer runs are kept


class Call(ByChance):
    """`signs`: those of zeros are looked at, too, where nothing else is wrong. `doubtful`: eager is asked whether it is sure of
    itself also where nothing is off. `fine`: small tensors are compared as what they are; `checked`: those that are no gradients,
    since a check of the program's own fails, and may look at them. `known`: what was told of an earlier call, (item, kind).
    """

    def __init__(
        self, torch, compiled, kept, args, gradients, signs=False, doubtful=False, fine=False, checked=False, known=()
    ):
        self.torch, self.compiled, self.kept = torch, compiled, kept
        self.runner = Runner(torch, Copier(torch, args), kept.names, gradients)
        self.held = kept.held()
        self.to_begin = randomness.kept(torch)
        self.once = 1  # how much it adds to the calls that were compared
        self.signs, self.doubtful = signs, doubtful
        self.fine, self.checked, self.known = fine, checked, known
        self.names = None  # what is looked at closely; None for everything
        self.measured = True
        self.unsteady = []  # what eager gives otherwise when other things lie in memory that nobody wrote, or by `unordered`
        self.unordered = {}  # what hangs on the order of writes to one place, and the operations that write so
        self.by_chance = []  # (name, reason) of what could not be compared, since it hangs on random numbers that are others
        self._dice = None  # says what is drawn, where eager and compiled are to draw the same
        self._drawn, self._nexts = (), []
        self._both = None
        self._varied = None

    @contextlib.contextmanager
    def as_it_began(self):
        """Inside, random numbers are drawn as they were when the call was made; then they go on from where it left them."""
        to_go_on = randomness.kept(self.torch)
        self.to_begin()
        try:
            yield
        finally:
            to_go_on()

    def wrong(self, result, args):
        """All that is wrong with this result, each as facts: values first, then what is known of the tensors besides."""
        compiled, eager = self.runner.given(result, args, self.kept.named(self.kept.gm)), self._eager()
        if self.runner.gradients and not self._cut_off(eager, compiled):
            again = self._compiled()
            compiled.tensors.update(_gradients(again.tensors))
            compiled.absent = again.absent
        return self._under_any_casts(self._wrong(eager, compiled))

    @staticmethod
    def _cut_off(eager, compiled):
        """Whether a backward pass ends at an output where eager's goes on: wrong gradients would only follow from that."""
        pairs = [(eager.facts[name], compiled.facts.get(name)) for name in eager.facts]
        return any(other is not None and rule.cut_off(one, other) for one, other in pairs)

    def _under_any_casts(self, found):
        """Without what is wrong only as long as a backward pass comes outside of the call's autocast: wait for the program's."""
        if not self.runner.casts or all(facts["direction"] == "forward" for facts in found):
            return found
        outside, self.runner.backward_cast = self.runner.backward_cast, self.runner.cast
        try:
            inside = [facts["item"] for facts in self.wrong_again()]
        finally:
            self.runner.backward_cast = outside
        return [facts for facts in found if facts["direction"] == "forward" or facts["item"] in inside]

    def under(self, gradients):
        """From here on the program's own gradients arrive at the outputs, with its casts: none at those that are not named."""
        self.runner.incoming, self.runner.sent = gradients, {}
        self.runner.backward_cast = compat.autocast_as_now()
        self.once = 0

    def wrong_again(self):
        """All that is wrong under the gradients that arrived."""
        self.names, self.measured, self._varied, self._nexts = None, True, None, []
        compiled = self._compiled()
        return self._wrong(self._eager(), compiled)

    def _wrong(self, eager, compiled):
        self._both = eager, compiled
        suspects = measure.suspicious(self.torch, eager, compiled, self._least)
        suspects += self._steps_apart([name for name in eager.tensors if name not in suspects], eager, compiled)
        asked = suspects or (list(eager.tensors) if self.doubtful else [])
        steady = self._sure_of(asked, eager) if asked else []
        steady = [name for name in steady if name in suspects]
        found = self._wrong_values(steady, eager, compiled) if steady else []
        with contextlib.suppress(Exception):  # some functions run once only
            varying.mark(self.torch, found, eager.tensors, self._compiled, self._smallest)
        found += self._wrong_facts(suspects, eager, compiled)
        if steady and not found:
            found = self._wrong_with_the_same_numbers(steady, eager)
        if not found and self.signs:
            found = self._wrong_signs(eager, compiled)
        return found

    def _steps_apart(self, names, eager, compiled):
        """Of what is close, that with an exact number in it that is another: a quotient rounded down, off by one in thousands."""
        names = [name for name in names if name in eager.facts or name.endswith(AFTER) or name.startswith(GRADIENT)]
        names = [name for name in names if self._finely(name) and roundoff.rounds_otherwise(eager, compiled, name)]
        if not names:
            return []
        try:
            moved = self._eager(mode=modes.nudged(self.torch, rough=False, whole=True)).tensors
        except Exception:  # an operation that no mode sees
            return []
        pairs = [(name, eager.tensors[name], compiled.tensors[name]) for name in names]
        return [name for name, *both in pairs if name in moved and measure.steps_apart(self.torch, *both, moved[name])]

    @property
    def doubted(self):
        """Whether some value was not close to eager's, and eager was asked what else it may give."""
        return self._varied is not None

    def inputs(self):
        """What the call was made with, as it was then."""
        return self.runner.copier.copies()[0]

    def rounding(self, wrong=()):
        """Of what is not `wrong` and yet not the same: the value that is furthest off, as facts; None where there is none."""
        eager, compiled = self._both
        doubted = {*wrong, *self.unsteady, *(name for name, _ in self.by_chance)}
        sure = [name for name in eager.tensors if name not in doubted]
        names = [
            name
            for name in sure
            if roundoff.rounds_otherwise(eager, compiled, name)
            or roundoff.steps_otherwise(eager, compiled, name, self._varied or ())
        ]
        if not names:
            return None
        self.names = None
        reference = self._reference()
        told = [self._rounding(name, reference) for name in names]
        return max(told, key=roundoff.rank)

    def _rounding(self, name, reference):
        """Of one of them. That eager's numbers are far off is said after as many runs as would blame the compiler."""
        varied = self._varied or ()
        told = roundoff.rounding(self.torch, name, *self._both, reference, varied)
        if roundoff.FAR_OFF in told["eager_gives"]:
            cast = self._reference(casts=True)
            told = roundoff.rounding(self.torch, name, *self._both, reference, varied, cast)
            if roundoff.FAR_OFF in told["eager_gives"] and varied:
                more = [*varied, *self._second_round(name)]
                told = roundoff.rounding(self.torch, name, *self._both, reference, more, cast)
        return told

    def first_overflow(self):
        """The first operation that gives infinity or NaN of finite numbers in eager, not in double precision; empty for none."""
        if not self.measured:
            return ""
        eager, double = modes.Overflows(self.torch), modes.Overflows(self.torch)
        try:
            self._eager(mode=eager.mode())
            self._eager(double=True, mode=modes.doubled(self.torch, double.call, self._is_single(), self._nexts))
        except Exception:  # no such kernel
            return ""
        return next((name for name, number in eager.found if (name, number) not in double.found), "")

    # -- how sure eager is of itself ------------------------------------------------------------------------------

    def _sure_of(self, names, eager):
        """The names of what eager gives again whatever lies in memory that nobody wrote, in whatever order places are written."""
        self.names = names
        self.unordered = self._unordered(names)
        self.names = steady = [name for name in names if name not in self.unordered]
        for byte in memory.FILLINGS:
            with memory.fresh_memory_filled(byte):
                steady = self._same(eager, self._eager(around=byte), steady)
        # Also between the operations. Two such runs are compared with each other: the mode itself may change the result.
        one, other = (self._surrounded(byte) for byte in memory.FILLINGS)
        if one is not None and other is not None:
            steady = self._same(one, other, steady)
        self.unsteady = [name for name in self.names if name not in steady]
        if self.unsteady:
            self._without_own_randomness()
        self.unsteady += self.unordered
        unchanged = self._eager(mode=modes.unchanged(self._nexts))
        self.measured = self._same(eager, unchanged, steady) == steady
        return steady

    def _unordered(self, names):
        """What is another value where places that are written several times are written in another order, and by what."""
        writes = []
        with repeats.in_order(self.torch), memory.fresh_memory_filled(memory.FILLINGS[0]):
            one = self._eager(mode=modes.written_in_order(self.torch, writes, reverse=False))
            if not writes:
                return {}
            again, other = (
                self._eager(mode=modes.written_in_order(self.torch, writes, reverse=each)) for each in (False, True)
            )
        names = self._same(one, again, names)  # else it hangs on something else
        same = self._same(one, other, names)
        return {name: ", ".join(writes) for name in names if name not in same}

    def _without_own_randomness(self):
        """What eager gives otherwise each time although memory holds the same hangs on numbers that nobody can draw again."""
        with memory.fresh_memory_filled(memory.FILLINGS[0]):
            again = self._same(self._eager(), self._eager(), self.unsteady)
        reason = "eager gives another value each time, from the same seed as well"
        self.by_chance += [(name, reason) for name in self.unsteady if name not in again]
        self.unsteady = again

    def _surrounded(self, byte):
        try:
            with memory.fresh_memory_filled(byte):
                return self._eager(mode=modes.surrounded(self.torch, byte), around=byte)
        except Exception:  # an operation that cannot be moved
            return None

    def _same(self, one, other, names):
        found = [(name, one.tensors.get(name), other.tensors.get(name)) for name in names]
        return [
            name
            for name, left, right in found
            if left is not None and measure.same_again(self.torch, left, right, self._smallest(name))
        ]

    # -- what is wrong --------------------------------------------------------------------------------------------

    def _wrong_values(self, names, eager, compiled):
        self.names = names
        reference, varied = self._reference(), [self._eager(), *self._others(range(FIRST_ROUND))]
        self._varied = varied
        doubtful = [name for name in names if self._values(name, eager, compiled, reference, varied)]
        found = []
        for name in doubtful[:TRIED]:
            # Once more and for certain: many runs, of which this one tensor is kept. What was told of an earlier call is not.
            facts = self._values(name, eager, compiled, reference, varied)
            mutation = self._as_mutation(name, eager, compiled)
            more = varied
            if (name, (mutation or facts)["kind"]) not in self.known:
                more = [*varied, *self._second_round(name)]
                facts = self._values(name, eager, compiled, reference, more)
            if facts is not None:
                if name in compiled.absent - eager.absent:
                    facts["words"] = "no gradient compiled, eager has one"
                if not self.fine and self._smallest(name) < rule.SMALLEST_SIZE:
                    facts["small"] = self._values(name, eager, compiled, reference, more, rule.SMALLEST_SIZE) is None
                found.append(self._named(name, eager, mutation or facts))
        return found

    def _smallest(self, name):
        """Tensors that are smaller throughout count as of this size."""
        return rule.FINEST_SIZE if self._finely(name) else rule.SMALLEST_SIZE

    def _least(self, name):
        """The same as long as it is not known whether the tensor is sure of its digits."""
        return rule.LEAST_SIZE if self._finely(name) else rule.SMALLEST_SIZE

    def _finely(self, name):
        return self.fine or (self.checked and not name.startswith(GRADIENT))

    def _second_round(self, name):
        """Many more runs that give what else eager may give for one tensor; of a large one, fewer."""
        self.names = [name]
        large = self._both[0].tensors[name].numel() > SMALL
        count = FIRST_ROUND + SECOND_ROUND // 3 if large else SECOND_ROUND
        return self._others(range(FIRST_ROUND, FIRST_ROUND + count))

    def _values(self, name, eager, compiled, reference, varied, smallest=None, measured=None):
        others = [given.tensors.get(name) for given in varied]
        exact = reference.tensors.get(name) if reference is not None else None
        if name not in compiled.tensors or any(other is None for other in others):
            return None
        smallest = smallest or self._smallest(name)
        measured = self.measured if measured is None else measured
        return measure.wrong_value(
            self.torch, eager.tensors[name], compiled.tensors[name], exact, others, measured, smallest
        )

    def _as_mutation(self, name, eager, compiled):
        """Facts where one of the two changed an input and the other did not. Eager changes what it writes its old values to."""
        if not name.endswith(AFTER):
            return None
        before = self.runner.before(self.held)[name]
        changed = [not measure.identical(given.tensors[name], before) for given in (eager, compiled)]
        if changed[0] == changed[1] or (changed[1] and name in eager.written):
            return None
        words = "is changed in eager, not compiled" if changed[0] else "is changed compiled, not in eager"
        return {"kind": "mutation", "sense": "eager" if changed[0] else "compiled", "words": words}

    def _wrong_facts(self, names, eager, compiled):
        found = []
        for name in names:
            if name not in compiled.tensors:
                facts = {"kind": "structure", "words": "is a tensor in eager, not compiled", "sense": "eager"}
                found.append(self._named(name, eager, facts))
                continue
            known = eager.facts.get(name)
            differs = rule.metadata_difference(known, compiled.facts[name]) if known else None
            if differs is not None and (self._varied is None or self._varied[0].facts.get(name) == known):
                facts = rule.metadata_facts(differs[0], known, compiled.facts[name])
                found.append(self._named(name, eager, {"kind": differs[0], "words": differs[1], **facts}))
        return found

    def _wrong_signs(self, eager, compiled):
        names = [name for name in eager.tensors if roundoff.signs_differ(self.torch, eager, compiled, name)]
        if not names:
            return []
        self.names = names
        again = [given for given in (self._reference(), self._eager(), *self._others(range(FIRST_ROUND))) if given]
        found = [(name, roundoff.wrong_sign(self.torch, name, eager, compiled, again)) for name in names]
        return [self._named(name, eager, facts) for name, facts in found if facts is not None]

    @staticmethod
    def _named(name, eager, facts):
        tensor = eager.tensors[name]
        return dict(
            facts,
            item=name,
            direction="backward" if name.startswith(GRADIENT) else "forward",
            dtype=str(tensor.dtype).split(".")[-1],
            shape=list(tensor.shape),
        )

    # -- runs -----------------------------------------------------------------------------------------------------

    def _eager(self, **how):
        module = self.kept.fresh(self.held, bool(how.get("double")))
        if self._dice is not None:
            how.setdefault("mode", self._dice.watch())
        return self._only(self.runner.run(module, held=self.kept.named(module), **how))

    def _compiled(self, mode=None):
        with self.kept.begun(self.held):
            return self.runner.run(self.compiled, mode=mode, held=self.kept.named(self.kept.gm))

    def _reference(self, casts=False):
        """The call in double precision; `casts`: but where the graph itself asks for a dtype of fewer digits."""
        try:
            call = self._dice.doubled(self._drawn) if self._dice is not None else None
            mode = modes.doubled(self.torch, call, self._is_single(), self._nexts, casts) if self.measured else None
            return self._eager(double=True, mode=mode)
        except Exception:  # no such kernel, or the graph needs its own precision
            return None

    def _is_single(self):
        tensors = [*self.runner.copier.bases.values(), *(tensor for _, tensor in self.held)]
        return scalars.is_single(self.torch, self.kept.gm, tensors)

    def _others(self, numbers):
        """What else eager may give: gently and roughly nudged in turn. An operation that no mode sees ends the nudging."""
        found = []
        for number in numbers:
            rough = bool(number % 2)
            if self.measured:
                try:
                    found.append(self._eager(mode=modes.nudged(self.torch, rough, self._dice), seed=number))
                    continue
                except Exception:
                    self.measured = False
            try:
                found.append(self._eager(shaken=rough, seed=number))
            except CannotCopyError:
                break
        return found

    def _only(self, given):
        """Without what nobody looks at: a run's gradients are as large as the model."""
        if self.names is not None:
            given.tensors = {name: given.tensors[name] for name in self.names if name in given.tensors}
        return given


def _gradients(tensors):
    return {name: tensor for name, tensor in tensors.items() if name.startswith(GRADIENT)}
