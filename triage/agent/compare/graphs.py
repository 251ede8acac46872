"""Compares every compiled graph with eager, on copies of what the program calls it with.

One per process, where the probe asks for it (`config["accuracy"]`): `gradients` (the program takes some), `stop` (end the
program at the first wrong value, or when the time for comparisons is spent), `until` (graph and call at which an earlier
probe found it; once past it, the program ends), `every` (each call is compared, not a sample of later ones), `own_check` (a
check of the program's own fails: every call is compared up to that, for the first wrong value need not be the one it looks at,
and what rounds otherwise is told), `signs` (of zeros are compared, too), `fine` (small tensors are compared as what they are),
`dropout` (is left on), `seconds` that comparisons may take. The program itself goes on with what the compiled graph gives it.
How one call is judged stands in `call`.
"""

import contextlib
import json
import threading
import time

from ..compat import gpu
from . import roundoff
from .call import Call
from .incoming import Waiting, described
from .kept import Kept, alone, collective, without_dropout

SECONDS = 120.0
DENSE_SECONDS = 10.0  # until comparisons have taken so long, every call is compared
ALWAYS_COMPARED = 2  # calls of each graph; later ones at powers of two
TOLD_AT_MOST = 5


class NotComparedError(Exception):
    """A graph that cannot be run by itself; the text says why."""


def carries_tangents(torch, args):
    """Whether an input is a dual tensor of forward-mode differentiation: copies of it are none."""
    forward_ad = torch.autograd.forward_ad
    return any(isinstance(item, torch.Tensor) and forward_ad.unpack_dual(item).tangent is not None for item in args)


class Comparer:
    """What is compared, and what was found."""

    def __init__(self, torch, recorder, asked):
        self.torch, self.recorder = torch, recorder
        self.gradients = bool(asked.get("gradients"))
        self.stop, self.until = bool(asked.get("stop")), asked.get("until")
        self.every, self.own_check = bool(asked.get("every")), bool(asked.get("own_check"))
        self.signs = bool(asked.get("signs"))
        self.fine = bool(asked.get("fine"))
        self.dropout = bool(asked.get("dropout"))
        self.left = self.given = float(asked.get("seconds") or SECONDS)
        self.calls = self.told = 0
        self.known = {}  # by graph, the values that were told as wrong, each with its kind
        self.roughest = (False, False, 0.0, False, 0.0)  # the rank of the roundings that were told
        self.busy = threading.local()
        self.waiting = Waiting()

    def keep(self, gm, graph_id):
        """The graph before a backend changes it; None where it cannot be kept."""
        try:
            if collective(gm) and not alone(self.torch):
                raise NotComparedError("its processes would have to compare in step")
            if not self.dropout and without_dropout(gm):
                self.recorder.channel.say("dropout_off", graph=graph_id)
            return Kept(self.torch, gm)
        except Exception as error:
            self._not_compared(graph_id, error)
            return None

    def watch(self, compiled, kept, graph_id, example_inputs, backend):
        """`compiled`, whose calls are compared first. `backend` is what `graph_case` is told of it."""
        seen = [0]
        graph = {"id": graph_id, "inputs": example_inputs, "backend": backend}

        def run(*args):
            seen[0] += 1
            call = self._begun(compiled, kept, graph, seen[0], args)
            result = compiled(*args)
            if call is not None:
                self._compare(call, result, kept, graph, seen[0], args)
            return result

        return run

    def _begun(self, compiled, kept, graph, number, args):
        """The call that is about to happen, its inputs copied; None where it is not compared."""
        if not self._wanted(graph["id"], number):
            return None
        began = time.monotonic()
        try:
            if number == 1 and carries_tangents(self.torch, args):
                self._not_compared(graph["id"], NotComparedError("its tangents, of forward-mode differentiation"))
            # A program's own eager run may have read what nobody wrote, where the one that is compared here happens not to.
            doubtful = self.own_check and number == 1
            how = self.gradients, self.signs, doubtful, self.fine, self.own_check
            return Call(self.torch, compiled, kept, args, *how, known=self.known.get(graph["id"], ()))
        except Exception as error:
            self._not_compared(graph["id"], error)
            return None
        finally:
            self.left -= time.monotonic() - began

    def compares(self):
        """Whether this thread is comparing a call now."""
        return getattr(self.busy, "now", False)

    def _wanted(self, graph_id, number):
        if self.compares() or gpu.records():
            return False
        if self._is_last(graph_id, number):
            return True
        dense = not self.until and self.given - self.left < DENSE_SECONDS
        every = dense or self.every or (self.own_check and graph_id not in self.known)
        return self.left > 0 and (every or number <= ALWAYS_COMPARED or number & (number - 1) == 0)

    def _is_last(self, graph_id, number):
        return bool(self.until) and (self.until["graph"], self.until["call"]) == (graph_id, number)

    def _compare(self, call, result, kept, graph, number, args):
        """Judge a call that has just returned; once more when its backward pass has come, where that may tell more."""
        found = self._judged(call, kept, graph, number, lambda: call.wrong(result, args))
        if found == [] and call.runner.gradients:
            held = call.runner.copier.bytes
            if self.waiting.add(self.torch, result, held, call, kept, graph, number):
                return
        self._settled(found or [], call, kept, graph, number)

    def backward_ended(self):
        """A backward pass of the program is over: the calls it came through are compared under its gradients."""
        if self.compares():
            return
        for arrived, (call, kept, graph, number) in self.waiting.ended():
            call.under(arrived)
            found = self._judged(call, kept, graph, number, call.wrong_again)
            self._settled(found or [], call, kept, graph, number)

    def _judged(self, call, kept, graph, number, judge):
        """What is wrong with a call, within the time for comparisons; None where that could not be told."""
        began, self.busy.now = time.monotonic(), True
        try:
            self.recorder.breadcrumb("compare graph %s, call %d" % (graph["id"], number))
            with call.as_it_began():
                found = judge()
                self.calls += call.once
                self._note(call, found, kept, graph, number)
            return found
        except Exception as error:
            self._not_compared(graph["id"], error)
            return None
        finally:
            self.busy.now = False
            self.left -= time.monotonic() - began

    def _settled(self, found, call, kept, graph, number):
        """Tell what was found, if anything; end the program where it has shown what it was run for."""
        try:
            if found:
                self._tell(found, kept, graph, number, call)
            # Each call is compared on the inputs that it really got, so a later one is wrong by itself or not at all.
            spent, shown = self.left <= 0 and not self.until, found and not self.own_check
            if (self.stop and (shown or spent)) or self._is_last(graph["id"], number):
                self.recorder.leave_early()
        except Exception as error:
            self._not_compared(graph["id"], error)

    def _not_compared(self, graph_id, error):
        self.recorder.channel.say(
            "not_compared", graph=graph_id, reason="%s: %s" % (type(error).__name__, str(error)[:300])
        )

    def _note(self, call, found, kept, graph, number):
        """What a call left to say beside what is wrong: that eager is no measure for a value, or that one rounds otherwise."""
        for name in call.unsteady:
            self.recorder.channel.say(
                "unsteady", graph=graph["id"], call=number, item=name, unordered=call.unordered.get(name)
            )
        for name, reason in call.by_chance:
            self.recorder.channel.say("by_chance", graph=graph["id"], call=number, item=name, reason=reason)
        # Beside wrong values, whichever the check looks at; what is wrong with no value is told with no graph's rounding.
        beside = self.own_check and any("compiled_error" in facts for facts in found)
        alone = not found and (self.own_check or call.doubted)
        rounding = call.rounding([facts["item"] for facts in found]) if beside or alone else None
        if rounding is not None and roundoff.rank(rounding) > self.roughest:
            self.roughest = roundoff.rank(rounding)
            if rounding["eager_wrong"]:
                rounding["eager_operation"] = call.first_overflow()
            if rounding["steps"] or rounding["tolerances"] > 1.0:
                with contextlib.suppress(Exception):  # the call was compared, whether its graph can be told or not
                    rounding["file"] = self._written(kept, graph, call, "graph-rounded-dynamo.json") or ""
            self.recorder.channel.say("rounding", result=dict(rounding, graph=graph["id"], call=number))

    def _tell(self, found, kept, graph, number, call):
        """All that is wrong with one call, and was not told of an earlier one; the graph is captured with it."""
        known = self.known.setdefault(graph["id"], set())
        found = [facts for facts in found if (facts["item"], facts["kind"]) not in known]
        known.update((facts["item"], facts["kind"]) for facts in found)
        if not found:
            return
        self.told += 1
        if self.told > TOLD_AT_MOST:
            return
        backward = any(facts["direction"] == "backward" for facts in found)
        file = None
        try:
            file = self._written(kept, graph, call, "graph-wrong-%d-dynamo.json" % self.told, backward)
        except Exception as error:
            self._not_compared(graph["id"], error)
        for facts in found:
            self.recorder.channel.say("wrong", file=file, result=dict(facts, graph=graph["id"], call=number))
        if file is not None:
            self.recorder.channel.say("graph_failed", graph=graph["id"], file=file, when="compare")

    def _written(self, kept, graph, call, file, backward=False):
        """The graph with the values of this call, as data; and the gradients it was sent, where one that it gave is wrong."""
        if not self.recorder.config.get("capture"):
            return None
        with kept.begun(call.held):
            case = self._described(kept, graph, call.inputs())
        if backward:
            case["inputs"] += described(case, call.runner.sent)
        return self.recorder.channel.put(file, json.dumps(case))

    def _described(self, kept, graph, given):
        """The graph with what a call of it was given; as it was compiled for, without values, where that is not to be had."""
        from ..capture import describe, later

        context = dict(describe.current_context(), **self.recorder.compile_settings())
        how = dict(graph["backend"], level="dynamo", graph_id=graph["id"], context=context)
        case = describe.graph_case(kept.gm, graph["inputs"], real_inputs=given, record_values=True, **how)
        if later.give(case, later.placeholders_of(kept.gm), given):
            return case
        return describe.graph_case(kept.gm, graph["inputs"], **how)
