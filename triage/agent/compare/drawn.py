"""What of a call hangs on random numbers: whether both sides drew the same, and what is wrong where they do."""

from . import dice, measure
from .run import GRADIENT


class ByChance:
    """The part of a `Call` that looks at it."""

    def _wrong_with_the_same_numbers(self, names, eager):
        """What is wrong with values that hang on random numbers, both sides drawing the same ones."""
        names = self._names_of_chance(names, eager)
        if not names:
            return []
        found = self._wrong_as_drawn(names, eager)
        if found:
            return found
        try:
            self._dice = dice.Dice(self.torch)
            return self._redrawn(names)
        except Exception as error:  # a graph that cannot be watched
            self._not_redrawn(names, "%s: %s" % (type(error).__name__, str(error)[:200]))
            return []
        finally:
            self._dice = None

    def _wrong_as_drawn(self, names, eager):
        """Gradients that are others though the forward pass drew the same numbers: what it gives is close to eager's.

        Such a backward pass draws once more what the forward pass had drawn, and to draw alike in every operation would hide
        that. One that only draws in another order than eager's is right.
        """
        compiled = self._both[1]
        gradients = [name for name in names if name.startswith(GRADIENT)]
        others = [name for name in eager.tensors if not name.startswith(GRADIENT)]
        if not gradients or not set(others).isdisjoint(measure.suspicious(self.torch, eager, compiled, self._smallest)):
            return []
        if not self._names_of_chance(others, eager) or not self._draws_more():
            return []
        self.names = gradients
        again = [self._eager(), self._eager()]  # so few that nothing is known of its rounding
        told = [(name, self._values(name, eager, compiled, None, again, measured=False)) for name in gradients]
        return [self._named(name, eager, dict(facts, redrawn=True)) for name, facts in told if facts is not None]

    def _draws_more(self):
        self._dice = dice.Dice(self.torch)
        try:
            self._eager()
            once = self._dice.draws
            self._compiled(mode=self._dice.watch())
            return dice.drawn_more(once, self._dice.draws)
        except Exception:  # a graph that cannot be watched
            return False
        finally:
            self._dice = None

    def _names_of_chance(self, names, eager):
        self.names = names
        other = self._eager(seed=0)
        same = self._same(eager, other, names)
        return [name for name in names if name not in same]

    def _redrawn(self, names):
        eager = self._eager()
        self._drawn = self._dice.draws
        compiled = self._compiled(mode=self._dice.watch())
        others = dice.not_in_both(self._drawn, self._dice.draws)
        if others:
            self._dice.turned = others
            sure = self._same(eager, self._eager(), names)
            self._dice.turned = ()
            reason = "of %s, which compiled code draws in another way" % ", ".join(others)
            self._not_redrawn([name for name in names if name not in sure], reason)
            names = sure
        suspects = measure.suspicious(self.torch, eager, compiled, self._smallest)
        return self._wrong_values([name for name in names if name in suspects], eager, compiled)

    def _not_redrawn(self, names, reason):
        self.by_chance += [(name, reason) for name in names]
