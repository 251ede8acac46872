"""Which planted fault a script shows: asked by leaving faults out, without a look at what any reducer thinks.

A script shows the target where it ends with the target alone as it ends with all faults, and otherwise (or well) with all
but the target. What it fails with under no fault at all is no fault's doing. An `End` is read from the process: its
signal, or the first line of its last exception without numbers, and how the outputs of its graphs differed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from drift_forks import Ended
from drift_programs import Fault

Run = Callable[[str, Sequence[Fault]], Ended]

TARGET, DRIFTED, MIXED, PASSES, BROKEN = "target", "drifted", "mixed", "passes", "broken"
_RAISED = re.compile(r"^(?P<type>[A-Za-z_][\w.]*): ?(?P<text>.*)|^(?P<bare>AssertionError)$", re.MULTILINE)
_NUMBER = re.compile(r"-?\b\d[\w.+-]*|\bnan\b|\binf\b")
HUNG = "hung"


@dataclass(frozen=True)
class End:
    """`how` is empty where all went well."""

    how: str
    outputs: tuple[str, ...] = ()

    @property
    def well(self) -> bool:
        return not self.how

    def words(self) -> str:
        return f"{self.how} ({', '.join(filter(None, self.outputs)) or 'outputs alike'})"


@dataclass(frozen=True)
class Finding:
    """What a script shows; `instead` names the fault that decided where that is another one."""

    verdict: str
    end: End
    instead: str = ""


def end_of(ended: Ended, *, silent: bool = False) -> End:
    """What a process made known. A `silent` script ends well whatever its outputs are; they then speak for it."""
    graphs = [fact["graph"] for fact in ended.trace if "graph" in fact]
    outputs = tuple(str(kind) for graph in graphs if isinstance(graph, list) for kind in graph)
    if ended.status == 0:
        return End("differs", outputs) if silent and any(outputs) else End("")
    if ended.status is None:
        return End(HUNG, outputs)
    return End(f"signal {-ended.status}" if ended.status < 0 else raised(ended.stderr), outputs)


def raised(stderr: str) -> str:
    """Type and first line of the exception that ended a process, numbers left out."""
    found = list(_RAISED.finditer(stderr.rpartition("Traceback (most recent call last):")[2]))
    if not found:
        return "exit"
    first = found[0]
    return first["bare"] or f"{first['type']}: {_NUMBER.sub('N', first['text'])}"


def judge(source: str, faults: Sequence[Fault], run: Run, *, silent: bool = False) -> Finding:
    """What this script shows under these faults."""

    def ends(left: Sequence[Fault]) -> End:
        return end_of(run(source, left), silent=silent)

    end = ends(faults)
    if end.well:
        return Finding(PASSES, end)
    alone = ends([fault for fault in faults if fault.name == "target"])
    without = ends([fault for fault in faults if fault.name != "target"])
    if not ends(()).well:
        return Finding(BROKEN, end, "no fault: it fails without any")
    if end == alone and end != without:
        return Finding(TARGET, end)
    if end == without or alone.well:
        return Finding(DRIFTED, end, decider(faults, end, ends))
    return Finding(MIXED, end)


def decider(faults: Sequence[Fault], end: End, ends: Callable[[Sequence[Fault]], End]) -> str:
    """The fault beside the target that alone ends the script in this way."""
    for fault in faults:
        if fault.name != "target" and ends([fault]) == end:
            return f"{fault.kind} of {fault.op} ({fault.when})"
    return "several"
