"""The walk along the ladder: which rung to probe next, side by side where the machine allows, until the stage is settled.

The first probe is the script as it is. From the boundary that its failure suggests the walk goes outwards; when the script
is quick, every rung is visited, because a whole table tells a maintainer more (but none above Dynamo, where that fails alone). A
failure must come back before a stage is blamed for it; one that does not is repeated until its rate is known.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from triage.environments.machine import runs_that_fit, usable_cores
from triage.judge.likeness import same_face
from triage.locate.conclude import (
    Conclusion,
    conclude,
    discount,
    expected_exceptions,
    face,
    fails_in_place,
    is_script_check,
    its_own_fault,
    not_to_blame,
    with_graphs_compared,
)
from triage.locate.ladder import ladder_for, suspect
from triage.model.accuracy import Comparison
from triage.model.outcome import BoundaryPoint
from triage.model.rungs import AS_IS, LADDER, UNCOMPILED, Rung, in_place_of
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.model.text import clip
from triage.probe.launch import Cancel
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.target import Target
from triage.session.clock import BudgetSpentError
from triage.session.session import Session

QUICK_SECONDS = 45.0
REPEATS = 5
SEEDS = 4
RUNS_PER_SEED = 2
# A rung hangs that takes so many times what those below it took, and at least so long.
HANG_FACTOR = 20.0
HANG_SECONDS = 120.0
TRIES = 2  # more runs of a script that passed


@dataclass
class Walk:
    """The state of a walk: what was seen, per rung. It is readable at any moment, also after an interrupt."""

    session: Session
    target: Target
    rungs: tuple[Rung, ...] = LADDER
    top: int = len(LADDER) - 1
    seen: dict[str, list[Probe]] = field(default_factory=dict)
    stop_after: BoundaryPoint | None = None
    other_stream: Probe | None = None
    in_place: Probe | None = None  # of a script that fails in another door of the compiler: a plain call in its place
    seeded: dict[int, tuple[int, int]] = field(default_factory=dict)  # of a flaky failure: (runs, failures) by seed
    on_graph: dict[str, Probe] = field(default_factory=dict)  # what the captured graph does by itself, per rung
    comparison: Comparison | None = None  # what the agents are asked to compare from here on
    compared: Probe | None = None
    checked: Probe | None = None  # the graphs compared, of a script whose own check fails
    checked_first: Probe | None = None  # that, of the rung of the script as it is, asked before the ladder
    operators_break: bool = (
        False  # custom operators do not what they say, so that no comparison with eager is a measure
    )
    emulated: Probe | None = None  # that script where Inductor rounds as eager does
    probe: Callable[..., Probe] = run_probe
    _beside: list[Beside] = field(default_factory=list)  # runs of the script that confirm what its graph told
    _crowded: list[tuple[Rung, Probe]] = field(default_factory=list)  # those of them to be asked once more, alone

    def conclusion(self) -> Conclusion:
        """What is known now."""
        found = conclude(self.rungs, self.top, self.evidence)
        if found.fails_uncompiled:
            return its_own_fault(found) if self.in_place is not None and fails_in_place(self.in_place) else found
        if self.other_stream is not None and self.other_stream.outcome.failed:
            return not_to_blame(found)
        if self.checked is None or (self.operators_break and self.checked.notes.wrong is None):
            return found
        return with_graphs_compared(found, self.checked)

    def first(self) -> Probe:
        """Run the script as it is; fixes which rungs there are."""
        probe = self.ask(Rung(AS_IS, None, Stage.NONE), AS_IS, capture=True)
        self.rungs, self.top = ladder_for(probe.notes.compile_calls)
        self.seen.setdefault(self.rungs[self.top].name, []).append(probe)
        self.session.emit("ladder", rungs=[rung.name for rung in self.rungs], top=self.rungs[self.top].name)
        self.announce(self.rungs[self.top], probe)
        exception = probe.outcome.exception
        if exception is not None and exception.phase in ("compile", "call", "backward") and not exception.swallowed:
            self.stop_after = probe.notes.point
        return probe

    @property
    def start(self) -> Probe:
        """The first run of the script as it is, or the one that compared, if that found the failure."""
        return self.seen[self.rungs[self.top].name][0]

    @property
    def evidence(self) -> dict[str, list[Probe]]:
        """What was seen per rung: of the script, and of its graph where the script was not run. Both count where both fail."""
        found = dict(self.seen)
        for name, probe in self.on_graph.items():
            of_script = self.seen.get(name, [])
            if not of_script or (probe.outcome.failed and of_script[-1].outcome.failed):
                found[name] = [*of_script, probe]
        return found

    def confirm_beside(self) -> None:
        """Begin with the runs of the script that any conclusion needs, and return: uncompiled, and below the suspected rung.

        Where one process is to run at a time they wait for `confirmed`.
        """
        self._begin_beside(UNCOMPILED, self.rungs[self.suspected() - 1])

    def _begin_beside(self, *rungs: Rung) -> None:
        begun = [rung for beside in self._beside for rung in beside.rungs]
        wanted = [rung for rung in dict.fromkeys(rungs) if self._unseen(rung) and rung not in begun]
        if wanted and self.jobs() > 1:
            self._beside.append(Beside(self, wanted))

    def heard_of_graph(self, answers: Mapping[str, Probe]) -> bool:
        """Take what the graph does by itself for the answers of the rungs, if that settles the stage. Whether it does."""
        self.on_graph = dict(answers)
        found = self.conclusion()
        to_blame = found.settled and found.monotone and found.stage not in (Stage.NONE, Stage.SCRIPT, Stage.DYNAMO)
        if not to_blame or not any(probe.outcome.failed for probe in answers.values()):
            self.on_graph = {}
            return False
        if found.passing is not None:
            self._begin_beside(found.passing)
        running = [rung for beside in self._beside for rung in beside.rungs]
        for rung in self.rungs:
            if self._unseen(rung) and rung not in running and rung.name in self.on_graph:
                self.announce(rung, self.on_graph[rung.name])
        return True

    def confirmed(self) -> bool:
        """Wait for the script's own answers to the rungs that the conclusion rests on. False where its graph told otherwise.

        Then what the graph told is forgotten. Raises BudgetSpentError where the budget ended a run.
        """
        self.alone()
        if not self.on_graph:
            return True
        below = self.conclusion().passing
        self._visit([rung for rung in dict.fromkeys((UNCOMPILED, below)) if rung is not None and self._unseen(rung)])
        told = {name: probe for name, probe in self.on_graph.items() if self.seen.get(name)}
        if all(probe.outcome.failed == self.seen[name][-1].outcome.failed for name, probe in told.items()):
            return True
        self.on_graph = {}
        return False

    def alone(self) -> None:
        """Wait for what runs beside: whatever is run next has the script's files and ports for itself. Raises as they did."""
        while self._beside:
            self._beside[0].join()
            self._beside.pop(0)
        crowded, self._crowded = self._crowded, []
        self._ask_alone(crowded)

    def stop(self) -> None:
        """End what still runs beside."""
        while self._beside:
            self._beside.pop().stop()

    def settle(self) -> Conclusion:
        """Visit rungs until the stage is known, the failure has come back, and the table is as full as time allows."""
        top = self.rungs[self.top]
        first = self.start
        if not first.outcome.failed and first.notes.compile_calls and first.outcome.seconds <= QUICK_SECONDS:
            # Whoever asks has seen it fail: it may be a failure that does not come every time.
            self._visit([top] * TRIES)
            first = next((probe for probe in self.seen[top.name] if probe.outcome.failed), first)
        if first.outcome.failed:
            self._settle(first)
            self._check_door()
        return self.conclusion()

    def _settle(self, first: Probe) -> None:
        if self.conclusion().fails_uncompiled:  # seen beside the questions to its graph
            return
        guess = self._guess(first)
        blamed = self.rungs[guess]
        if first.outcome.kind is OutcomeKind.HANG:
            self._visit([UNCOMPILED])  # from it the others learn how long to wait
            if self.conclusion().fails_uncompiled:
                return
        if blamed.stage is not Stage.DYNAMO or not self._traced_alike(first, blamed):
            self._visit(self._likely(first, guess))
        if not self.conclusion().settled:
            self._search()
        if not self.conclusion().fails_uncompiled:
            self._confirm(first)
            self._check_randomness()

    # -- which rung next ------------------------------------------------------------------------------------------

    def _traced_alike(self, first: Probe, dynamo: Rung) -> bool:
        """Whether Dynamo alone fails in the same way: the rungs above trace as it does, and below it there is none to doubt."""
        self._visit([rung for rung in (UNCOMPILED, dynamo) if self._unseen(rung)])
        if self.conclusion().fails_uncompiled:
            return True
        if self._unseen(dynamo):  # it was ended for a failure of the uncompiled run that was none after all
            return False
        probe = self.seen[dynamo.name][-1]
        same = (
            probe.signature is not None and first.signature is not None and same_face(probe.signature, first.signature)
        )
        return self._passes(UNCOMPILED) and same

    def _likely(self, first: Probe, guess: int) -> list[Rung]:
        """The rungs on both sides of the boundary that is guessed. Of a quick script all of them, the likely culprit twice."""
        blamed = self.rungs[guess]
        visits = [rung for rung in dict.fromkeys((UNCOMPILED, self.rungs[guess - 1], blamed)) if self._unseen(rung)]
        if first.outcome.seconds <= QUICK_SECONDS:
            # In one go: no core waits for the answer of another.
            visits += [blamed] * (2 - len(self.seen.get(blamed.name, [])) - visits.count(blamed))
            visits += [rung for rung in self.rungs if rung not in visits and self._unseen(rung)]
        return visits

    def suspected(self) -> int:
        """The rung that the first failure speaks for, as an index."""
        return self._guess(self.start)

    def _guess(self, first: Probe) -> int:
        """The rung that the failure suggests, as an index."""
        assert first.signature is not None
        stages = [rung.stage for rung in self.rungs]
        guess = suspect(first.signature, first.outcome)
        index = min(stages.index(guess), self.top) if guess in stages else self.top
        if self.rungs[self.top].stage is Stage.BACKEND:
            index = self.top
        return index

    def _unseen(self, rung: Rung) -> bool:
        return rung.name not in self.seen

    def _search(self) -> None:
        """Close the gap between the highest passing and the lowest failing rung."""
        for _ in range(len(self.rungs)):
            found = self.conclusion()
            if found.settled or found.failing is None:
                return
            high = self.rungs.index(found.failing)
            passed = [i for i in range(high) if self._passes(self.rungs[i])]
            low = max(passed, default=-1)
            unseen = [i for i in range(low + 1, high) if self.rungs[i].name not in self.seen]
            if not unseen:
                return
            self._visit(
                [self.rungs[i] for i in dict.fromkeys((high - 1, (low + high) // 2)) if i in unseen][: self.jobs()]
            )

    def _passes(self, rung: Rung) -> bool:
        probes = self.seen.get(rung.name, [])
        return bool(probes) and not any(probe.outcome.failed for probe in probes)

    def _confirm(self, first: Probe) -> None:
        """The failure must come back. One that does not is repeated, and so are the rungs below it."""
        found = self.conclusion()
        if found.failing is None or found.fails_uncompiled:
            return
        if found.runs < 2 and found.outcome is not None and found.outcome.kind is not OutcomeKind.HANG:
            self._visit([found.failing])
        found = self.conclusion()
        if found.symptom is not Symptom.NONDETERMINISTIC:
            return
        assert found.failing is not None
        self._visit([found.failing] * (REPEATS - len(self.seen[found.failing.name])))
        if found.passing is not None:
            self._visit([found.passing] * (REPEATS - len(self.seen[found.passing.name])))
        if first.outcome.seconds <= QUICK_SECONDS:
            self._try_seeds(found.failing)

    def _try_seeds(self, rung: Rung) -> None:
        """Whether random numbers decide: with a fixed seed the same must happen every time, with some seeds not the same.

        Ends with the first seed with which both happens.
        """
        for seed in range(SEEDS):
            with self._pool(min(self.jobs(), RUNS_PER_SEED)) as pool:
                names = [f"{rung.name}-seed-{seed}-{number + 1}" for number in range(RUNS_PER_SEED)]
                probes = list(pool.map(lambda name: self.ask(rung, name, seed=seed), names))  # noqa: B023
            for probe in probes:
                self.announce(rung, probe)
            self.seeded[seed] = (len(probes), sum(probe.outcome.failed for probe in probes))
            if 0 < self.seeded[seed][1] < len(probes):
                return

    def _check_randomness(self) -> None:
        """A failed check of the script's own may only say that other numbers were drawn (`agent/compare/randomness.py`)."""
        found = self.conclusion()
        if found.outcome is None or not is_script_check(found.outcome):
            return
        self.other_stream = self.ask(UNCOMPILED, "uncompiled-other-random", other_stream=True)

    def _check_door(self) -> None:
        """What fails in another door of the compiler must pass where the door only calls what it was given."""
        door = self.conclusion().door
        if door is not None:
            name = in_place_of(door.name)
            rung = Rung(name, name, Stage.NONE)
            self.in_place = self.ask(rung, "in-place")
            self.announce(rung, self.in_place)

    # -- running --------------------------------------------------------------------------------------------------

    def _patience(self) -> float:
        """The limit in seconds of one probe. A script that hangs has told nothing by its time, the rungs that pass have."""
        every = [probe.outcome for probes in list(self.seen.values()) for probe in list(probes)]  # others add to it
        passed = [outcome.seconds for outcome in every if outcome.kind is OutcomeKind.OK]
        if passed and self.start.outcome.kind is OutcomeKind.HANG:
            return max(HANG_SECONDS, HANG_FACTOR * max(passed))
        return float("inf")

    def values_matter(self) -> bool:
        """Whether the failure may depend on the values the script had: it did not come while compiling."""
        failed = next((probe for probe in self.seen.get(self.rungs[self.top].name, []) if probe.outcome.failed), None)
        exception = failed.outcome.exception if failed is not None else None
        return failed is not None and (exception is None or exception.phase != "compile")

    def jobs(self) -> int:
        """Probes side by side: as asked for, else one per three gigabytes and core, at most four.

        A program with ranks meets at an address, which two runs of it would have to share: one at a time.
        """
        if any(probe.notes.distributed for probes in list(self.seen.values()) for probe in list(probes)):
            return 1
        if self.session.settings.jobs:
            return self.session.settings.jobs
        return max(1, min(usable_cores(), runs_that_fit(), 4))

    @contextlib.contextmanager
    def _pool(self, size: int) -> Iterator[ThreadPoolExecutor]:
        """Threads for probes side by side. Whatever interrupts the wait for them ends them all."""
        pool = ThreadPoolExecutor(max_workers=size)
        try:
            yield pool
        except BaseException:
            self.session.cancel.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _visit(self, rungs: Sequence[Rung], until: Cancel | None = None) -> None:
        """Probe these rungs, side by side (`until` ends them). Stops the others once the script is known to fail uncompiled.

        Runs side by side may be in each other's way: they open the same port, write the same file. So a rung that failed
        in another way than the script did is asked once more, alone, and the first answer is forgotten. What runs beside
        other work (`until`) is alone only in `alone`: until then nothing is known of that rung.
        """
        if not rungs:
            return
        side_by_side = min(self.jobs(), len(rungs))
        stop = Cancel(until or self.session.cancel)
        crowded: list[tuple[Rung, Probe]] = []
        with self._pool(side_by_side) as pool:
            waiting: dict[Future[Probe], Rung] = {}
            for rung in rungs:
                number = len(self.seen.get(rung.name, [])) + list(waiting.values()).count(rung)
                name = rung.name if number == 0 else f"{rung.name}-{number + 1}"
                waiting[pool.submit(self.ask, rung, name, cancel=stop)] = rung
            while waiting:
                ended, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in ended:
                    rung = waiting.pop(future)
                    probe = future.result()
                    if probe.cancelled:
                        self.session.emit("probe_cancelled", rung=rung.name, name=probe.name)
                        continue
                    in_the_way = (side_by_side > 1 or until is not None) and self._fails_otherwise(probe)
                    crowded += [(rung, probe)] if in_the_way else []
                    if not in_the_way or until is None:
                        self.seen.setdefault(rung.name, []).append(probe)
                    self.announce(rung, probe)
                    if rung is UNCOMPILED and probe.outcome.failed:
                        stop.set()
                        waiting = {future: rung for future, rung in waiting.items() if not future.cancel()}
        if until is None:
            self._ask_alone(crowded)
        else:
            self._crowded += crowded

    def _ask_alone(self, crowded: Sequence[tuple[Rung, Probe]]) -> None:
        for rung, probe in crowded:
            again = self.ask(rung, f"{probe.name}-alone")
            if again.cancelled:
                continue
            kept = [each for each in self.seen.get(rung.name, []) if each is not probe]
            self.seen[rung.name] = [*kept, again]
            self.announce(rung, again)

    def _fails_otherwise(self, probe: Probe) -> bool:
        """Whether a probe ended in a failure that is not the script's."""
        first = self.start
        if not probe.outcome.failed or probe.signature is None or first.signature is None:
            return False
        return not same_face(probe.signature, first.signature)

    def ask(
        self,
        rung: Rung,
        name: str,
        capture: bool = False,
        other_stream: bool = False,
        cancel: Cancel | None = None,
        seed: int | None = None,
        extra_env: Mapping[str, str] | None = None,
        opcheck: tuple[str, ...] = (),
        limit: float = float("inf"),
        comparison: Comparison | None = None,
    ) -> Probe:
        """Run the script once on a rung, for `limit` seconds at most. Raises BudgetSpentError where the budget ended it."""
        # The failing rung's graphs may be needed where the first run did not get that far.
        patience = min(self._patience(), self.session.settings.timeout, limit)
        request = ProbeRequest(
            name=name,
            target=self.target,
            rung=rung.force,
            timeout=min(self.session.probe_timeout(), patience),
            directory=self.session.directory,
            capture=capture or rung.force != UNCOMPILED.force,
            record_values=self.values_matter(),
            stop_after=self.stop_after,
            other_stream=other_stream,
            seed=seed,
            accuracy=None if opcheck else comparison or self.comparison,
            opcheck=opcheck,
            neutral=self.session.neutral,
            extra_env=extra_env or {},
        )
        self.session.emit("probe_started", rung=rung.name, name=name, timeout=request.timeout)
        probe = self.probe(request, cancel or self.session.cancel)
        if probe.outcome.kind is OutcomeKind.HANG and request.timeout < patience and probe.outcome.seconds < patience:
            raise BudgetSpentError  # it was the budget that ended it, not the limit of a probe (nor that of a resumed run's)
        if not probe.cancelled and not self.session.cancel.is_set():
            self.session.emit("probe_facts", probe=probe)
        return probe

    def announce(self, rung: Rung, probe: Probe) -> None:
        """Tell the listeners how a probe ended."""
        judged = discount(probe, expected_exceptions(self.seen))
        self.session.emit(
            "probe_ended",
            rung=rung.name,
            name=probe.name,
            outcome=judged.outcome.kind,
            signal=probe.outcome.signal,
            seconds=round(probe.outcome.seconds, 2),
            message=(clip(judged.signature.message, 200) if judged.signature else ""),
            exception=(judged.signature.exception_type if judged.signature else None),
            face=face(judged, self.conclusion().signature),
            stopped_early=probe.notes.stopped_early,
            on=probe.on,
        )


class Beside:
    """Runs of the script on some rungs, in a thread of their own; what they show is added to the walk as it is learned."""

    def __init__(self, walk: Walk, rungs: Sequence[Rung]) -> None:
        self.rungs = tuple(rungs)
        self._cancel = Cancel(walk.session.cancel)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="confirm")
        self._runs = self._pool.submit(walk._visit, self.rungs, self._cancel)

    def join(self) -> None:
        """Wait for them. Raises what they raised."""
        try:
            while not wait([self._runs], timeout=0.2).done:
                pass  # in pieces: ctrl-C is seen between them
            self._runs.result()
        finally:
            self.stop()

    def stop(self) -> None:
        """End what still runs."""
        self._cancel.set()
        self._pool.shutdown(wait=True)
