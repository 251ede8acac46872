"""One probe, from request to facts: stage, launch, read what the agents wrote, interpret, clean up.

What is worth keeping goes to the run directory as it is learned: `logs/<name>.{out,err,torch,written}.log`, `trace/<name>/`,
`graph/<name>/` (captured graphs), `logs/<name>.events.jsonl`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from triage.judge.signature import FailureSignature, signature_of
from triage.model.accuracy import Comparison
from triage.model.codec import encode
from triage.model.outcome import AgentNotes, BoundaryPoint, Outcome
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind
from triage.probe import interpret
from triage.probe.events import read_events, read_stacks
from triage.probe.launch import Cancel, Exit, Launch, launch, text_of
from triage.probe.notes import agent_notes, graph_order
from triage.probe.staging import Stage, environment, harvest_neutral, make_stage, shared_with_forks
from triage.probe.standby import READY, RUNGS, Standby
from triage.probe.supervisor import STACKS_SIGNAL
from triage.probe.target import Target
from triage.probe.written import results_written

Late = Callable[[Sequence[Path], int], str]
Start = Callable[[Launch, "Cancel | None"], Exit]
MOST_LOG_BYTES = 8 * 1024 * 1024
CLOCKS = 0.05  # seconds that the times of files may be behind the clock
GO_FILE = "go"  # a run that is `held` waits for it in its channel
STOP_FILE = "stop_after.json"  # as the agent looks for it in its channel (agent/hooks/recorder.py)
# Fields of a request that the agent reads under the same names (`recorder.config`); it is told those that are set.
_AGENT_READS = (
    *("rung", "capture", "record_values", "stop_later", "other_stream", "as_compiled", "unwrapped", "unwritten"),
    *("rounds_otherwise", "seed", "accuracy", "explain", "settle", "compile_arguments", "dynamo_settings"),
    *("uncompiled_graphs", "values_of_call", "opcheck", "timed", "turns", "held"),
)


@dataclass(frozen=True)
class ProbeRequest:
    """What to run and how. `rung` is a backend name, `uncompiled`, or None for the script as it is."""

    name: str
    target: Target
    rung: str | None
    timeout: float
    directory: Path  # the run directory
    spare: float = 0.0  # seconds besides, for those in which it waits for a processor
    capture: bool = False
    record_values: bool = False
    stop_after: BoundaryPoint | None = None
    stop_later: bool = False  # where it is to be stopped is told while it runs (`locate/ahead.py`)
    stop_seconds: float = 0.0  # it is not stopped there before it has run so long
    other_stream: str = ""  # compiled functions draw other random numbers, `all` or `numpy`'s (uncompiled rung only)
    as_compiled: bool = False  # the program is told that it is compiled where it asks (uncompiled rung only)
    unwrapped: bool = False  # a module comes back from torch.compile as it is (uncompiled rung only)
    unwritten: Mapping[str, object] | None = None  # what memory holds that nobody wrote (uncompiled rung only)
    rounds_otherwise: bool = False  # what compiled functions return is a rounding off (uncompiled rung only)
    seed: int | None = None  # of every global random generator, and of the order of sets
    accuracy: Comparison | None = None  # compare compiled graphs with eager
    explain: bool = False  # tell graph breaks, recompilations and compile times
    settle: tuple[int, float] | None = None  # end it after so many calls and seconds in which nothing was compiled
    compile_arguments: Mapping[str, object] = field(default_factory=dict)  # given to torch.compile besides
    dynamo_settings: Mapping[str, object] = field(default_factory=dict)  # with `explain` alone
    uncompiled_graphs: tuple[str, ...] = ()  # Dynamo's names of graphs that are run as they are
    values_of_call: tuple[str, int] | None = None  # describe this graph by what it is given in this call, from 1
    opcheck: tuple[str, ...] = ()  # custom operators to check, `ns::name` (uncompiled rung only)
    overlay: Mapping[Path, bytes] = field(default_factory=dict)  # files of the program with another text in this run
    timed: bool = False  # calls of compiled functions are measured, a GPU waited for
    held: str = ""  # it waits at its first call of a compiled function until `go_on` (GO_FILE)
    turns: Mapping[str, object] | None = None  # steps are measured in turns with other processes (`hooks/turns.py`)
    extra_env: Mapping[str, str] = field(default_factory=dict)
    neutral: Path | None = None
    kernels: Path | None = None  # where the run's built kernels lie; without it all are built anew
    extensions: Path | None = None  # the same for C++ extensions of a program whose TORCH_EXTENSIONS_DIR is private
    private: tuple[Path, ...] = ()  # directories of ours that go with us where we are killed
    makes: Standby | None = None  # other runs of the script are to begin where this one first calls a compiled function
    begins_at: Standby | None = None  # it may begin there, if it passes (`probe/standby.py`)
    begun: Callable[[Path], None] | None = None  # told of the directory that the agents write into, before the start
    late: Late | None = None  # why to wait no longer; told what the run writes into, and the process above it
    verbose_logs: bool = True


# A request of which nothing is asked, and what may be otherwise in one that begins in the middle of the program.
_PLAIN = ProbeRequest("", Target("", (), Path()), None, 0.0, Path())
_ANY = (
    *(
        "name",
        "target",
        "rung",
        "timeout",
        "spare",
        "directory",
        "capture",
        "record_values",
        "stop_after",
        "stop_later",
    ),
    *("neutral", "kernels", "extra_env", "begins_at", "begun", "late", "verbose_logs", "values_of_call"),
)


@dataclass(frozen=True)
class Probe:
    """The facts of one probe: of the script, or of a graph captured from it (`on`), which has no log."""

    name: str
    rung: str | None
    outcome: Outcome
    signature: FailureSignature | None
    notes: AgentNotes
    log: Path
    graphs: tuple[Path, ...] = ()  # captured graphs, the failing one first
    cancelled: bool = False
    on: str = "script"  # script | graph
    lent: bool = False  # run in the warm interpreter of a sweep, with few logs
    later: FailureSignature | None = None  # of a run that passed where the script fails: by what it failed behind that


def run_probe(request: ProbeRequest, cancel: Cancel | None = None, start: Start = launch) -> Probe:
    """Run it, as `start` does. Everything the target does is a fact in the result; only our own mistakes raise."""
    if request.begins_at is not None and _is_plain(request):
        quick = replace(request, begins_at=None, capture=False, record_values=False, verbose_logs=False)
        probe = _run_probe(quick, cancel, request.begins_at.start)
        if probe.cancelled or probe.outcome.kind is OutcomeKind.OK:
            return probe
    return _run_probe(request, cancel, start)


def _is_plain(request: ProbeRequest) -> bool:
    """Whether nothing is asked of it that is to be known when the program begins, but for the rung."""
    told = replace(request, **{name: getattr(_PLAIN, name) for name in _ANY})
    return request.rung in RUNGS and told == _PLAIN and not set(request.extra_env) - {"TORCH_LOGS"}


def _run_probe(request: ProbeRequest, cancel: Cancel | None, start: Start) -> Probe:
    logs = request.directory / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    stdout, stderr = logs / f"{request.name}.out.log", logs / f"{request.name}.err.log"
    stage, used = make_stage(request.neutral), False
    began = time.time()
    try:
        if request.begun is not None:
            request.begun(stage.channel)
        try:
            done = start(_launch(request, stage, stdout, stderr), cancel)
            used = request.makes is not None and request.makes.ended(done.seconds)
        finally:  # also when we are interrupted: what was learned stays
            _keep_log(stage.root / "torch.log", logs / f"{request.name}.torch.log")
            _keep_events(stage.channel, logs / f"{request.name}.events.jsonl")
        events = read_events(stage.channel, until=done.told_at)
        notes = agent_notes(events)
        graphs = _keep_graphs(stage.channel, request, events)
        outcome = interpret.outcome_of(
            done,
            notes,
            text_of(stdout),
            text_of(stderr),
            read_stacks(stage.channel),
            uncompiled=request.rung == UNCOMPILED.name,
        )
        outcome = interpret.with_comparison(outcome, notes)
        if outcome.kind is OutcomeKind.OK:
            _keep_written(request, began, logs / f"{request.name}.written.log")
        if done.code is not None and not done.timed_out:
            harvest_neutral(stage, request.neutral)
    finally:
        if not used:
            stage.remove()
    return Probe(
        request.name,
        request.rung,
        outcome,
        signature_of(outcome),
        notes,
        stderr,
        graphs,
        done.cancelled and not done.timed_out,
    )


def _keep_written(request: ProbeRequest, began: float, log: Path) -> None:
    """What it wrote into files: another run may write over them."""
    written = results_written(request.target.cwd, began - CLOCKS, request.directory)
    if written:
        log.write_text(written, encoding="utf-8", errors="replace")


def stop_at(channel: Path, point: BoundaryPoint) -> None:
    """Tell a run that goes on (`stop_later`), and whose agents write into this directory, behind which point to end."""
    with contextlib.suppress(OSError):  # it has ended
        part = channel / f"{STOP_FILE}.part"
        part.write_text(json.dumps(encode(point)))
        part.replace(channel / STOP_FILE)


def go_on(channel: Path) -> None:
    """Tell a run that is `held`, and whose agents write into this directory, to go on from its first compiled call."""
    with contextlib.suppress(OSError):  # it has ended
        (channel / GO_FILE).touch()


def stage_env(request: ProbeRequest, stage: Stage, standby: Path | None = None) -> dict[str, str]:
    """The environment of this request in this stage. `standby`: where a copy of the program is to wait to be asked."""
    fields = {name: getattr(request, name) for name in _AGENT_READS}
    agent = {name: encode(value) for name, value in fields.items() if value or (value == 0 and name == "seed")}
    if STACKS_SIGNAL:
        agent["stacks_signal"] = STACKS_SIGNAL
    else:
        agent["stacks_after"] = max(1.0, request.timeout * 0.9 - 0.5)
    if request.stop_after is not None:
        agent["stop_after"] = {**encode(request.stop_after), "seconds": request.stop_seconds}
    if standby is not None:
        agent["standby"] = str(standby)
    if request.target.only_test:
        agent["only_test"] = request.target.only_test
    if request.overlay:
        agent["overlay"] = {str(path): str(place) for path, place in _changed_texts(request.overlay, stage)}
    if request.turns is not None:
        agent["timed"] = True
    elif not request.explain:  # where compile times are measured, all of them count
        if request.neutral is not None:
            agent["shared"] = str(shared_with_forks(request.neutral))
        if request.kernels is not None:
            agent["kernels"] = str(request.kernels)
        if request.extensions is not None:
            agent["extensions"] = str(request.extensions)
    trace = None
    if request.verbose_logs:
        trace = request.directory / "trace" / request.name
        trace.mkdir(parents=True, exist_ok=True)
    env = environment(os.environ, stage, agent, trace=trace, extra={})
    if "kernels" in agent:  # Triton's are known by their text as well
        env["TRITON_CACHE_DIR"] = str(Path(str(agent["kernels"])) / "triton")
    if request.verbose_logs:
        env["TORCH_LOGS_OUT"] = str(stage.root / "torch.log")
    if request.explain or request.turns is not None:  # what is timed writes no logs; an empty TORCH_LOGS is an error
        env = {name: value for name, value in env.items() if name not in ("TORCH_LOGS", "TORCHDYNAMO_VERBOSE")}
    if request.seed is not None:
        env["PYTHONHASHSEED"] = str(request.seed)
    env.update(request.extra_env)
    return env


def _changed_texts(overlay: Mapping[Path, bytes], stage: Stage) -> Iterator[tuple[Path, Path]]:
    """Each file with the place where its text of this run lies."""
    folder = stage.root / "overlay"
    folder.mkdir()
    for number, (path, text) in enumerate(overlay.items()):
        place = folder / f"{number}.py"
        place.write_bytes(text)
        yield path, place


def _launch(request: ProbeRequest, stage: Stage, stdout: Path, stderr: Path) -> Launch:
    target, late, makes = request.target, None, request.makes
    standby = makes.prepare(stage, stdout, stderr) if makes is not None else None
    if request.late is not None:
        late = partial(request.late, (stdout, stderr, stage.root / "torch.log", stage.channel))
    return Launch(
        target.command,
        target.cwd,
        stage_env(request, stage, standby),
        stdout,
        stderr,
        request.timeout,
        request.spare,
        stdin=target.stdin,
        channel=stage.channel,
        late=late,
        private=(stage.root, *request.private),
        standby=standby / READY if standby is not None else None,
        keep=makes.keep if makes is not None else None,
    )


def _keep_graphs(channel: Path, request: ProbeRequest, events: list[dict[str, object]]) -> tuple[Path, ...]:
    names = graph_order(events)
    if not names:
        return ()
    goal = request.directory / "graph" / request.name
    goal.mkdir(parents=True, exist_ok=True)
    kept = []
    for name in names:
        with contextlib.suppress(OSError):
            shutil.copy2(channel / name, goal / name)
            kept.append(goal / name)
    return tuple(kept)


def _keep_log(source: Path, goal: Path) -> None:
    """Keep the first and last part of torch's own log."""
    with contextlib.suppress(OSError):
        size = source.stat().st_size
        with source.open("rb") as file:
            if size <= MOST_LOG_BYTES:
                goal.write_bytes(file.read())
                return
            head = file.read(MOST_LOG_BYTES // 2)
            file.seek(size - MOST_LOG_BYTES // 2)
            goal.write_bytes(head + b"\n... %d bytes left out ...\n" % (size - MOST_LOG_BYTES) + file.read())


def _keep_events(channel: Path, goal: Path) -> None:
    with contextlib.suppress(OSError), goal.open("wb") as out:
        for path in sorted(channel.glob("events-*.jsonl")):
            out.write(path.read_bytes())
