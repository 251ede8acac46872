"""Compares every compiled graph with eager, on copies of what the program calls it with.

One per process, where the probe asks for it (`config["accuracy"]`): `gradients` (the program takes some), `stop` (end the
program at the first wrong value, or when the time for comparisons is spent), `until` (graph and call at which an earlier
probe found it; once past it, the program ends), `own_check` (a check of the program's own fails: every call is compared, and
what rounds otherwise is told), `signs` (of zeros are compared, too), `seconds` that comparisons may take. The program itself
goes on with what the compiled graph gives it. How one call is judged stands in `accuracy_call`.
"""

import json
import threading
import time

from .accuracy_call import Call
from .accuracy_graph import Kept, alone, collective, without_dropout
<<<<<<< HEAD
=======
from .accuracy_incoming import Waiting, described
from .accuracy_run import Runner
>>>>>>> wt-c

SECONDS = 120.0
ALWAYS_COMPARED = 2  # calls of each graph; later ones at powers of two
TOLD_AT_MOST = 5


class NotComparedError(Exception):
    """A graph that cannot be run by itself; the text says why."""


class Comparer:
    """What is compared, and what was found."""

    def __init__(self, torch, recorder, asked):
        self.torch, self.recorder = torch, recorder
        self.gradients = bool(asked.get("gradients"))
        self.stop, self.until = bool(asked.get("stop")), asked.get("until")
        self.own_check, self.signs = bool(asked.get("own_check")), bool(asked.get("signs"))
        self.left = float(asked.get("seconds") or SECONDS)
        self.calls = self.told = 0
        self.roughest = 0.0  # of the roundings that were told, how many tolerances
        self.busy = threading.local()
        self.waiting = Waiting()

    def keep(self, gm, graph_id):
        """The graph before a backend changes it; None where it cannot be kept."""
        try:
            if collective(gm) and not alone(self.torch):
                raise NotComparedError("its processes would have to compare in step")
            without_dropout(gm)
            return Kept(self.torch, gm)
        except Exception as error:
            self._not_compared(graph_id, error)
            return None

    def watch(self, compiled, kept, graph_id, example_inputs, backend):
        """`compiled`, whose calls are compared first."""
        seen = [0]
        graph = {"id": graph_id, "inputs": example_inputs, "backend": backend}

        def run(*args):
            seen[0] += 1
<<<<<<< HEAD
            call = self._begun(compiled, kept, graph, seen[0], args)
            result = compiled(*args)
            if call is not None:
                self._compare(call, result, kept, graph, seen[0], args)
=======
            call = None
            if self._wanted(graph_id, seen[0]):
                call = self._compare(compiled, kept, graph, seen[0], args)
            result = compiled(*args)
            if call is not None:
                self._await(result, call, kept, graph, seen[0])
>>>>>>> wt-c
            return result

        return run

    def _begun(self, compiled, kept, graph, number, args):
        """The call that is about to happen, its inputs copied; None where it is not compared."""
        if not self._wanted(graph["id"], number):
            return None
        began = time.monotonic()
        try:
            return Call(self.torch, compiled, kept, args, self.gradients, self.signs)
        except Exception as error:
            self._not_compared(graph["id"], error)
            return None
        finally:
            self.left -= time.monotonic() - began

    def _wanted(self, graph_id, number):
        if getattr(self.busy, "now", False):
            return False
        if self._is_last(graph_id, number):
            return True
        often = self.own_check or number <= ALWAYS_COMPARED or number & (number - 1) == 0
        return self.left > 0 and often

    def _is_last(self, graph_id, number):
        return bool(self.until) and (self.until["graph"], self.until["call"]) == (graph_id, number)

<<<<<<< HEAD
    def _compare(self, call, result, kept, graph, number, args):
        began, self.busy.now = time.monotonic(), True
        found = []
        try:
            self.recorder.breadcrumb("compare graph %s, call %d" % (graph["id"], number))
            with call.as_it_began():
                found = call.wrong(result, args)
                self.calls += 1
                self._note(call, found, graph["id"], number)
=======
    def _compare(self, compiled, kept, graph, number, args):
        """The call, to be compared once more when its backward pass has come; None where there is no need."""
        call, found = self._judged(graph, number, lambda: _Call(self.torch, compiled, kept, args, self.gradients))
        if call is not None and found is None and call.runner.gradients:
            return call
        self._settled(found, call, kept, graph, number)
        return None

    def _await(self, result, call, kept, graph, number):
        """Wait for the gradients that the program itself sends back through this call."""
        if not self.waiting.add(self.torch, result, call.runner.copier.bytes, call, kept, graph, number):
            self._settled(None, call, kept, graph, number)

    def backward_ended(self):
        """A backward pass of the program is over: the calls it came through are compared under its gradients."""
        if getattr(self.busy, "now", False):
            return
        for arrived, (call, kept, graph, number) in self.waiting.ended():
            call.under(arrived)
            _, found = self._judged(graph, number, lambda: call)  # noqa: B023 - called at once
            self._settled(found, call, kept, graph, number)

    def _judged(self, graph, number, make):
        """(the call, what is wrong with it), within the time for comparisons."""
        began, self.busy.now = time.monotonic(), True
        call = found = None
        try:
            self.recorder.breadcrumb("compare graph %s, call %d" % (graph["id"], number))
            call = make()
            found = call.wrong()
            self.calls += call.once
>>>>>>> wt-c
        except Exception as error:
            self._not_compared(graph["id"], error)
            call = None
        finally:
            self.busy.now = False
            self.left -= time.monotonic() - began
        return call, found

    def _settled(self, found, call, kept, graph, number):
        """Tell what was found, if anything; end the program where it has shown what it was run for."""
        try:
<<<<<<< HEAD
            if found:
                self._tell(found, kept, graph, number, call.inputs())
=======
            if found is not None:
                self._tell(found, kept, graph, number, call)
>>>>>>> wt-c
            spent = self.left <= 0 and not self.until
            if (self.stop and (found or spent)) or self._is_last(graph["id"], number):
                self.recorder.leave_early()
        except Exception as error:
            self._not_compared(graph["id"], error)

    def _not_compared(self, graph_id, error):
        self.recorder.channel.say(
            "not_compared", graph=graph_id, reason="%s: %s" % (type(error).__name__, str(error)[:300])
        )

<<<<<<< HEAD
    def _note(self, call, found, graph_id, number):
        """What a call that nobody is blamed for left to say: that eager is no measure for it, or that it rounds otherwise."""
        for name in call.unsteady:
            self.recorder.channel.say("unsteady", graph=graph_id, call=number, item=name)
        rounding = call.rounding() if self.own_check and not found else None
        if rounding is not None and rounding["tolerances"] > self.roughest:
            self.roughest = rounding["tolerances"]
            self.recorder.channel.say("rounding", result=dict(rounding, graph=graph_id, call=number))

    def _tell(self, found, kept, graph, number, args):
        """All that is wrong with one call; the graph is captured once."""
        self.told += 1
        if self.told > TOLD_AT_MOST:
            return
        file = self._capture(kept, graph, args)
        for facts in found:
            self.recorder.channel.say("wrong", file=file, result=dict(facts, graph=graph["id"], call=number))
=======
    def _tell(self, found, kept, graph, number, call):
        self.told += 1
        if self.told > TOLD_AT_MOST:
            return
        file = self._capture(kept, graph, call, found)
        self.recorder.channel.say("wrong", file=file, result=dict(found, graph=graph["id"], call=number))
>>>>>>> wt-c
        if file is not None:
            self.recorder.channel.say("graph_failed", graph=graph["id"], file=file, when="compare")

    def _capture(self, kept, graph, call, found):
        """The graph with the values of this call, as data; and the gradients it was sent, where one that it gave is wrong."""
        if not self.recorder.config.get("capture"):
            return None
        try:
            from . import describe

            case = describe.graph_case(
                kept.gm, graph["inputs"], level="dynamo", graph_id=graph["id"], backend=graph["backend"],
                context=dict(describe.current_context(), **self.recorder.compile_settings()),
                real_inputs=call.runner.copier.copies()[0], record_values=True,
            )  # fmt: skip
            if found["direction"] == "backward":
                case["inputs"] += described(case, call.runner.sent)
            return self.recorder.channel.put("graph-wrong-%d-dynamo.json" % self.told, json.dumps(case))
        except Exception as error:
            self._not_compared(graph["id"], error)
            return None
<<<<<<< HEAD
=======


class _Call:
    """One call of a compiled graph, judged."""

    def __init__(self, torch, compiled, kept, args, gradients):
        self.torch, self.compiled, self.kept = torch, compiled, kept
        self.runner = Runner(torch, Copier(torch, args), kept.names, gradients)
        self.names = None  # what is looked at closely; None for everything
        self.measured = True
        self.once = 1  # how much it adds to the calls that were compared

    def under(self, gradients):
        """From here on the program's own gradients arrive at the outputs: none at those that are not named."""
        self.runner.incoming, self.runner.sent = gradients, {}
        self.names, self.once = None, 0

    def wrong(self):
        """What is wrong, as facts, or None."""
        torch = self.torch
        eager, compiled = self._eager(), self._compiled()
        self.names = measure.suspicious(torch, eager, compiled)
        if not self.names:
            return None
        reference = self._reference()
        varied = [self._eager(), *self._others(range(FIRST_ROUND))]
        for name in [name for name in self.names if self._values(name, eager, compiled, reference, varied)][:TRIED]:
            # Once more and for certain: many runs, of which this one tensor is kept.
            self.names = [name]
            count = SECOND_ROUND if eager.tensors[name].numel() <= SMALL else FIRST_ROUND + SECOND_ROUND // 3
            more = [*varied, *self._others(range(FIRST_ROUND, FIRST_ROUND + count))]
            facts = self._values(name, eager, compiled, reference, more)
            if facts is not None:
                return self._named(name, eager, facts)
        return self._metadata(eager, compiled, varied)

    def _values(self, name, eager, compiled, reference, varied):
        others = [given.tensors.get(name) for given in varied]
        exact = reference.tensors.get(name) if reference is not None else None
        if any(other is None for other in others):
            return None
        return measure.wrong_value(
            self.torch, eager.tensors[name], compiled.tensors[name], exact, others, self.measured
        )

    def _metadata(self, eager, compiled, varied):
        for name, known in eager.facts.items():
            found = rule.metadata_difference(known, compiled.facts[name]) if name in compiled.facts else None
            if found is not None and varied[0].facts.get(name) == known:
                return self._named(name, eager, {"kind": found[0], "words": found[1]})
        return None

    @staticmethod
    def _named(name, eager, facts):
        tensor = eager.tensors[name]
        gradient = name.startswith("gradient of ")
        return dict(
            facts,
            item=name,
            direction="backward" if gradient else "forward",
            dtype=str(tensor.dtype).split(".")[-1],
            shape=list(tensor.shape),
        )

    def _eager(self, **how):
        module = self.kept.fresh(bool(how.get("double")))
        return self._only(self.runner.run(module, parameters=self.kept.parameters(module), **how))

    def _compiled(self):
        put_back = self.kept.state()
        try:
            return self.runner.run(self.compiled, parameters=self.kept.parameters(self.kept.gm))
        finally:
            put_back()

    def _reference(self):
        try:
            return self._eager(double=True, mode=modes.doubled(self.torch))
        except Exception:  # no such kernel, or the graph needs its own precision
            return None

    def _others(self, numbers):
        """What else eager may give: gently and roughly nudged in turn. An operation that no mode sees ends the nudging."""
        found = []
        for number in numbers:
            rough = bool(number % 2)
            if self.measured:
                try:
                    found.append(self._eager(mode=modes.nudged(self.torch, rough), seed=number, shaken=None))
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
>>>>>>> wt-c
