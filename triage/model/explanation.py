"""What `triage explain` finds, as data: graph breaks, recompilations, compile times. The schema of `explain.json`."""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class SourceLine:
    line: int
    code: str


@dataclass(frozen=True)
class GraphBreak:
    """One line at which graphs end. `file` and `line` are the program's own; `inside` is where below it the reason lies.

    `count` is how often a compile met it, `seconds` what the compiles of the parts behind it took. With `skips_frame` the
    whole function is left to Python, as a break in a loop does it. `cure_works` is true or false where the cure was `tried`
    in a run of its own, null where it was not; `note` says what came of it otherwise.
    """

    file: str
    line: int
    code: str
    reason: str
    id: str | None = None  # of torch's graph_break_registry.json
    hints: tuple[str, ...] = ()
    count: int = 1
    function: str = ""
    explanation: str = ""
    link: str | None = None
    cure: str = ""  # what to do, in a sentence: the hint that fits the line
    skips_frame: bool = False
    # Lines of the program that lead there: they break with it, and are mended with it.
    called_from: tuple[str, ...] = ()
    inside: str | None = None
    seconds: float | None = None
    source: tuple[SourceLine, ...] = ()
    cure_works: bool | None = None
    tried: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Recompilation:
    """A guard of one function that failed, `count` times. `left`: recompilations until the limit, where Dynamo gives up.

    `cure_works` is true or false where the cure was `tried` in a run of its own, null where it was not. It works where at
    most one recompilation of this kind is left, and fewer than before.
    """

    function: str
    file: str
    line: int
    guard: str
    count: int
    cure: str
    cure_works: bool | None = None
    kind: str = "other"
    tried: str | None = None
    remaining: int | None = None  # how many recompilations of this kind were left in that run
    note: str | None = None
    used_at: str | None = None  # where the program uses what the guard is about
    values: tuple[str, ...] = ()
    limit: int | None = None
    left: int | None = None
    limit_hit: bool = False


@dataclass(frozen=True)
class GraphTime:
    """The compile of one frame. `graph` is Dynamo's own name of it, `frame/recompile`."""

    graph: str
    function: str
    file: str
    line: int
    seconds: float
    ops: int | None = None
    failed: str | None = None  # why the frame is not compiled


@dataclass(frozen=True)
class CompileTime:
    """In seconds. `later_call` is the median of the calls after the first, `by_phase` exclusive of what lies inside.

    All that with empty caches; `warm_seconds` and `warm_first_call` of one more run, with the caches that the first one filled.
    """

    seconds: float = 0.0
    first_call: float | None = None
    by_phase: dict[str, float] = field(default_factory=dict)
    by_graph: tuple[GraphTime, ...] = ()
    later_call: float | None = None
    calls: int = 0
    warm_seconds: float | None = None  # null where that was not asked
    warm_first_call: float | None = None


@dataclass(frozen=True)
class Interval:
    """A median of measured values, and the interval of 95 % confidence around it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ModeRow:
    """The program in one mode of torch.compile, or with one backend. Times in seconds, memory in bytes.

    `step` is a call of the compiled function (with its backward pass), `speedup` against the uncompiled program's, taken round
    by round, `pays_after` the steps after which compiling has paid for itself (null where it does not within the interval).
    `compile_seconds` is what the steps took in which something was compiled. `peak_bytes` is of the whole process.
    `repeated`: the program made too few calls, so its last one was made again. `wrong` is what compiled code gives that eager
    does not; null where nothing is wrong or, with `compared` false, where that was not asked.
    """

    name: str
    outcome: str  # measured | failed | not_run
    reason: str | None = None
    compile_seconds: float | None = None
    step: Interval | None = None
    steps: int = 0
    rounds: int = 0
    speedup: Interval | None = None
    pays_after: int | None = None
    peak_bytes: int | None = None
    device_peak_bytes: int | None = None
    repeated: bool = False
    compared: bool = False
    wrong: str | None = None
    processes: int = 1  # that the rounds are of, one after the other


@dataclass(frozen=True)
class ProfiledOperation:
    """What the profiler calls one operation, in a step: `seconds` are its own, without what it calls. `inside`: of a graph."""

    name: str
    count: int
    seconds: float
    device_seconds: float = 0.0
    inside: bool = False
    fused: tuple[str, ...] = ()  # the operations in it, where it is a kernel of Inductor's


@dataclass(frozen=True)
class ProfiledStep:
    """One step through the profiler, the quickest of `steps`; times in seconds. `trace` lies in the run directory."""

    mode: str
    seconds: float
    steps: int
    trace: str
    operations: tuple[ProfiledOperation, ...] = ()


@dataclass(frozen=True)
class FusedTime:
    """Kernels that share operations, and those operations in the uncompiled step. Times in seconds."""

    kernels: tuple[str, ...]
    operations: tuple[str, ...]
    seconds: float
    uncompiled_seconds: float


@dataclass(frozen=True)
class Profile:
    """`triage explain --profile`. `slower` are sentences on what takes longer compiled than it did."""

    uncompiled: ProfiledStep
    compiled: ProfiledStep
    fused: tuple[FusedTime, ...] = ()
    slower: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """The whole. `fullgraph` is what fails first with `fullgraph=True`, where that was asked for and something does."""

    graphs: int
    graph_breaks: tuple[GraphBreak, ...]
    recompiles: tuple[Recompilation, ...]
    compile: CompileTime
    command: tuple[str, ...]
    complete: bool = True
    incomplete_reason: str | None = None
    fullgraph: GraphBreak | None = None
    fullgraph_passes: bool | None = None  # null where it was not run
    modes: tuple[ModeRow, ...] = ()
    step_function: str | None = None  # --step; null where the repeated call of a compiled function is the step
    outside: tuple[str, ...] = ()  # what of a step is not compiled, in sentences; with `profile` alone
    profile: Profile | None = None
    profile_note: str | None = None  # why there is none
    environment: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION
