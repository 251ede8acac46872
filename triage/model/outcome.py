"""What a probe found out: facts only, no judgement.

An exception is described by the agent inside the target (`RaisedException`), or read from the text of a traceback where
no agent could speak (a child process without one, a rank that was killed). Either way it has the same shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from triage.model.accuracy import Check, Rounding, Wrongness, WrongResult
from triage.model.own_code import OperatorCheck
from triage.model.places import in_packages
from triage.model.stage import OutcomeKind


@dataclass(frozen=True)
class Frame:
    """One line of a traceback, outermost first. `file` is as the interpreter saw it; `code` is the source line.

    `handler`: its function is one that a signal calls, in the middle of what the frame above did.
    """

    file: str
    line: int
    function: str
    code: str = ""
    handler: bool = False

    @property
    def told(self) -> str:
        """`train.py:31 in forward: y = self.lin(x)`; of an installed package the path in there, `pkg/models/vit.py:31 in ...`."""
        file = in_packages(self.file) or PurePosixPath(self.file.replace("\\", "/")).name
        return f"{file}:{self.line} in {self.function}: {self.code}".rstrip(": ")


@dataclass(frozen=True)
class RaisedException:
    """An exception as it was raised.

    `type` is the qualified name (`torch._inductor.exc.InductorError`; builtins without module). `inner` is the
    exception this one only wraps (`inner_exception` of BackendCompilerFailed and InductorError), `cause` the one at the
    bottom of those that it was raised from. `user_code` are the lines Dynamo prints under "from user code:", `phase` is
    where it crossed the compile boundary.
    """

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    inner: RaisedException | None = None
    cause: RaisedException | None = None
    user_code: tuple[Frame, ...] = ()
    phase: str = "uncaught"  # compile | call | backward | compare | printed | uncaught | test | text
    swallowed: bool = False  # the program went on after it
    in_graph: bool = False  # it left a compiled graph while that ran
    ended: str = ""  # what it ended in the end: `uncaught` (a process) | `test`; empty where the program handled it
    rank: int | None = None  # number of the process in its group, which has `world` processes
    world: int | None = None
    check: Check | None = None  # of a check of the program's own: what it compared
    wrong: Wrongness | None = None  # of a wrong value that the agent found
    test: str = ""  # which test of a test runner it ended
    libraries: Mapping[str, str] = field(default_factory=dict)  # version by name, of packages in `frames` but torch

    def innermost(self) -> RaisedException:
        """The exception at the bottom of the wrappers."""
        return self if self.inner is None else self.inner.innermost()

    @property
    def levels(self) -> tuple[RaisedException, RaisedException]:
        """The outermost exception, and the one at the bottom of the wrappers (which may be the same)."""
        return self, self.innermost()

    @property
    def in_compiled_code(self) -> bool:
        """Whether the compiler raised it, or what it compiled."""
        return self.phase in ("compile", "call", "backward")


@dataclass(frozen=True)
class Outcome:
    """How one probe ended. `seconds` is wall-clock time; `exit_code` is negative where a signal ended the process."""

    kind: OutcomeKind
    seconds: float = 0.0
    exit_code: int | None = None
    signal: str | None = None
    exception: RaisedException | None = None
    detail: str = ""  # the telling line of stderr for a crash, the phase for a hang, the reason for `invalid`
    stacks: str = ""  # faulthandler stacks, where there are any
    late: bool = False  # of a hang: it was ended before its limit, as it could not but hang (`locate/lateness.py`)
    still: bool = False  # of one that is late: no process of it had done anything for some time
    starved: float = 0.0  # of its seconds, those in which it waited for a processor, where that was looked at

    @property
    def own_seconds(self) -> float:
        """What it would have taken on a machine that is not busy, as limits count."""
        return self.seconds - self.starved

    @property
    def failed(self) -> bool:
        return self.kind not in (OutcomeKind.OK, OutcomeKind.INVALID)

    @property
    def innermost(self) -> RaisedException | None:
        """The exception at the bottom of the wrappers, where one was raised."""
        return self.exception.innermost() if self.exception is not None else None

    @property
    def check(self) -> Check | None:
        """What the check of the program's own compared that failed."""
        return self.exception.check if self.exception is not None else None

    def words(self) -> str:
        """`ok`, `exception`, `crash (SIGSEGV)`: for tables."""
        by_signal = self.signal and self.kind in (OutcomeKind.CRASH, OutcomeKind.OOM)
        return f"{self.kind.value} ({self.signal})" if by_signal else self.kind.value


@dataclass(frozen=True)
class BoundaryPoint:
    """Where in the program a failure happened: how many calls of compiled functions and backward passes had begun."""

    calls: int = 0
    backwards: int = 0


@dataclass(frozen=True)
class CompileCall:
    """One use of `torch.compile` as the script wrote it. `backend` is None for the default.

    `backend_by_name`: it was given as a string, not as a function or object of that name.
    `backend_at` is the function behind a backend of the program's or of a library's; None for torch's own.
    """

    backend: str | None
    mode: str | None = None
    fullgraph: bool = False
    dynamic: bool | None = None
    options: tuple[str, ...] = ()
    custom_backend: bool = False
    backend_at: Frame | None = None
    name: str = ""
    where: str = ""
    backend_by_name: bool = True


FEWEST_CALLS = 3  # that a program makes whose steps are measured: the first does not count, and one is no median


@dataclass(frozen=True)
class Steps:
    """What the outermost calls of compiled functions took: medians in seconds, of those that compiled nothing and were at work.

    `backwards` and `backward` are those of backward passes.
    """

    calls: int
    call: float
    backwards: int = 0
    backward: float | None = None

    @property
    def seconds(self) -> float:
        """One call, and a backward pass where each call has one."""
        with_backward = self.backward is not None and self.backwards == self.calls
        return self.call + (self.backward or 0.0) if with_backward else self.call


@dataclass(frozen=True)
class AgentNotes:
    """What the agents of one probe wrote, over all processes of the target."""

    started: bool = False
    torch_version: str | None = None
    python_version: str | None = None
    compile_calls: tuple[CompileCall, ...] = ()
    raised: tuple[RaisedException, ...] = ()
    graph: str | None = None  # Dynamo's name of the one that failed, or that was compiled or run when the process died
    died_in: tuple[str, int] | None = None  # the graph in which a process died, and in which of its calls, from 1
    graphs: int = 0
    graph_breaks: int = 0
    recompiles: int = 0
    last_breadcrumb: str = ""
    reached: float | None = None  # seconds from the first use of torch.compile to that breadcrumb
    point: BoundaryPoint = field(default_factory=BoundaryPoint)
    stopped_early: bool = False
    double_backward: bool = False  # a backward pass with create_graph=True had begun
    asked_if_compiled: tuple[str, ...] = ()  # where it asked torch whether it is compiled, and was not: `model.py:7`
    wraps_module: bool = False  # torch.compile was given a module: what it returns wraps that, uncompiled too
    unwritten: tuple[str, ...] = ()  # where it asked for memory that nobody wrote: `torch.empty (train.py:7)`
    orig_mod_keys: tuple[str, ...] = ()  # of a checkpoint, not taken for the model's: they differ by `_orig_mod.`
    missing: tuple[str, ...] = ()  # features this torch does not have, each with its reason
    tests: int = 0  # that a session of pytest or unittest was about to run
    main_ended: bool = False  # the main thread of the first process came to its end; other threads may have gone on
    distributed: bool = False  # a process called a compiled function as a member of a process group
    calls: int = 0  # of compiled functions, as far as a process came to its end
    backwards: int = 0  # backward passes begun outside of compiled calls
    # Values of compiled graphs that were found wrong, the first found first; that first which a check is known to look at.
    wrongs: tuple[WrongResult, ...] = ()
    rounding: Rounding | None = None  # what eager's rounding explains, the furthest off
    unsteady: tuple[str, ...] = ()  # values that eager itself gives otherwise when unwritten memory holds others, or
    unordered: tuple[str, ...] = ()  # by these operations alone, which write several times to one place, in no order
    by_chance: tuple[str, ...] = ()  # values that hang on random numbers which differ compiled, each with its reason
    without_dropout: bool = False  # dropout was switched off in graphs that were compared
    compared: int = 0  # calls of compiled graphs that were compared with eager
    not_compared: tuple[str, ...] = ()  # why others were not
    operators: tuple[str, ...] = ()  # custom operators that the program knows, `ns::name`
    device_share: float = 0.0  # of a GPU's memory, at most, of all its processes together
    steps: Steps | None = None  # of the process with the most calls; None where there are too few to measure
    checked: tuple[OperatorCheck, ...] = ()  # what torch.library.opcheck found of some of them

    @property
    def wrong(self) -> WrongResult | None:
        """The value of a compiled graph that is told as wrong: the first one."""
        return self.wrongs[0] if self.wrongs else None

    def checked_by(self, outcome: Outcome | None) -> AgentNotes:
        """With that wrong value first which the check that failed in this outcome looked at."""
        check = outcome.check if outcome is not None else None
        return self if check is None else replace(self, wrongs=check.likeliest_first(self.wrongs))
