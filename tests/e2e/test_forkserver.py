"""One warm interpreter, many bad candidates: each is only an outcome, nothing of it survives, the server lives on."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from killed_run import NOTES_AND_SLEEPS, kill_and_see_nothing_left

from triage.judge.judgement import CandidateResult
from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.model.outcome import Outcome
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel, Exit, Launch
from triage.probe.lending import Lender, run_borrowed
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.starvation import STILL_CANDIDATE_SECONDS
from triage.probe.target import Target
from triage.reduce.printing.printer import print_case
from triage.session.session import neutral_store
from triage.trial.cutoff import CutOffRunner
from triage.trial.fresh import verify
from triage.trial.pool import Query
from triage.trial.runner import ForkServerRunner

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.quick,
    pytest.mark.skipif(sys.platform != "linux", reason="the fork server runs on Linux; elsewhere fresh processes do"),
]

HEAD = "import ctypes, os, signal, sys, time\nimport torch\ndef f(x, w):\n    return torch.tanh(x @ w) * 2\n"
INPUTS = "torch.manual_seed(0)\nx, w = torch.randn(4, 4), torch.randn(4, 4)\nf(x, w)\n"
EAGER = "torch.compile(f, backend='eager')(x, w)\n"
INDUCTOR = "torch.compile(f, backend=os.environ.get('TORCH_COMPILE_BACKEND', 'inductor'))(x, w)\n"
BROKEN_MUL = (
    "from torch._inductor.lowering import lowerings\n"
    "def broken(*args, **kwargs):\n    raise ValueError('planted in a lowering')\n"
    "lowerings[torch.ops.aten.mul.Tensor] = broken\n"
)
OK = HEAD + INPUTS + EAGER


@pytest.fixture(scope="module")
def runner() -> Iterator[ForkServerRunner]:
    made = ForkServerRunner(sys.executable, jobs=2, memory_mb=1200)
    yield made
    made.close()


def _signal(name: str) -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.kind is OutcomeKind.CRASH and outcome.signal == name


def _kind(kind: OutcomeKind) -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.kind is kind


ZOO: dict[str, tuple[str, Callable[[Outcome], bool]]] = {
    "passes": (OK, _kind(OutcomeKind.OK)),
    "fails in a lowering": (HEAD + INPUTS + BROKEN_MUL + INDUCTOR, _kind(OutcomeKind.EXCEPTION)),
    "segmentation fault": (OK + "ctypes.string_at(0)\n", _signal("SIGSEGV")),
    "abort": (OK + "os.abort()\n", _signal("SIGABRT")),
    "hangs": (OK + "while True: pass\n", _kind(OutcomeKind.HANG)),
    "hangs and ignores SIGTERM": (
        OK + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)\n",
        _kind(OutcomeKind.HANG),
    ),
    "eats memory": (OK + "kept = []\nwhile True: kept.append(bytearray(b'x' * (32 << 20)))\n", _kind(OutcomeKind.OOM)),
    "eats memory in a child of its own": (
        OK
        + "if os.fork() == 0:\n    kept = []\n    while True: kept.append(bytearray(b'x' * (32 << 20)))\nos.wait()\n",
        _kind(OutcomeKind.OOM),
    ),
    "hides its failure behind os._exit(0)": (
        HEAD + INPUTS + BROKEN_MUL + f"try:\n    {INDUCTOR}except Exception:\n    os._exit(0)\n",
        _kind(OutcomeKind.EXCEPTION),
    ),
    "prints 200 MB": (OK + "for _ in range(200): os.write(1, b'x' * (1 << 20))\n", _kind(OutcomeKind.OK)),
    "closes every descriptor": (HEAD + "os.closerange(0, 4096)\n" + INPUTS + EAGER, _kind(OutcomeKind.OK)),
    "names what a fresh torch imports when it is named": (
        OK + "torch._inductor.config.cpp.threads, torch._dynamo.config.suppress_errors, torch.onnx, torch.fx.Graph\n",
        _kind(OutcomeKind.OK),
    ),
    "imports it itself": (
        OK + "import torch._inductor.lowering\ntorch._inductor.lowering.lowerings\n",
        _kind(OutcomeKind.OK),
    ),
    "exits with a status": (OK + "sys.exit('no')\n", _kind(OutcomeKind.EXCEPTION)),
}


def test_a_candidate_may_not_live_on_what_only_the_warm_interpreter_has_imported(runner):
    result = runner.run(HEAD + "torch._inductor.lowering.register_lowering\n", timeout=60)
    assert "module 'torch._inductor' has no attribute 'lowering'" in str(result.outcome.exception)


@pytest.mark.parametrize("name", ZOO)
def test_a_bad_candidate_is_only_an_outcome(runner: ForkServerRunner, name: str) -> None:
    source, right = ZOO[name]
    result = runner.run(source, timeout=3.0 if "hangs" in name else 60.0)
    assert right(result.outcome), result.outcome
    assert result.compiled
    assert ("repro.py" in result.outcome.stacks) is (
        name == "hangs" or "SIGTERM" in name or "fault" in name or "abort" in name
    )
    assert _left_behind(runner) == []
    assert runner.why_slow is None


def test_where_failures_stand_still_one_that_does_is_at_its_limit(runner: ForkServerRunner) -> None:
    runner.stands_still(True)
    result = runner.run(OK + "__import__('threading').Event().wait()\n", timeout=300.0)
    assert (result.outcome.kind, result.compiled) == (OutcomeKind.HANG, True)
    assert result.outcome.seconds < 150.0 and "in wait" in result.outcome.stacks
    busy = runner.run(OK + "while True: pass\n", timeout=STILL_CANDIDATE_SECONDS + 4.0)
    assert busy.outcome.seconds > STILL_CANDIDATE_SECONDS + 3.0
    runner.stands_still(False)


def test_a_failure_before_the_first_compile_is_told_apart(runner: ForkServerRunner) -> None:
    result = runner.run(HEAD + INPUTS + "f(x, w[:2])\n" + EAGER)
    assert result.outcome.kind is OutcomeKind.EXCEPTION
    assert not result.compiled


def test_a_daemon_does_not_outlive_its_candidate(runner: ForkServerRunner) -> None:
    daemon = (
        "r, w = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        os.write(w, str(os.getpid()).encode())\n        os.closerange(0, 100)\n        os.chdir('/')\n"
        "        time.sleep(600)\n    os._exit(0)\n"
        "raise KeyError('daemon ' + os.read(r, 20).decode())\n"
    )
    signature = runner.run(OK + daemon).signature
    assert "daemon" in signature.message
    pid = int(signature.message.strip("'\"").split()[-1])
    assert not Path(f"/proc/{pid}").exists()


def test_every_candidate_starts_afresh(runner: ForkServerRunner) -> None:
    check = (
        "from torch._dynamo.utils import counters\nassert not counters, counters\n"
        "assert os.listdir('.') == ['repro.py'], os.listdir('.')\n"
        "assert __name__ == '__main__' and sys.argv == ['repro.py']\n"
    )
    script = HEAD + check + INPUTS + EAGER
    for _ in range(2):
        result = runner.run(script)
        assert result.outcome.kind is OutcomeKind.OK, result.outcome
        assert result.notes.graphs == 1
        assert result.notes.last_breadcrumb == "graph 0/0 ran"


def test_unseeded_candidates_differ_as_fresh_processes_do(runner: ForkServerRunner) -> None:
    script = HEAD + "import random\nraise KeyError(repr((random.random(), torch.rand(1).item())))\n"
    messages = {runner.run(script).signature.message for _ in range(2)}
    assert len(messages) == 2


def test_the_rung_is_forced(runner: ForkServerRunner) -> None:
    script = HEAD + INPUTS + BROKEN_MUL + INDUCTOR
    assert runner.run(script, rung="aot_eager").outcome.kind is OutcomeKind.OK
    assert runner.run(script, rung="uncompiled").outcome.kind is OutcomeKind.OK
    assert runner.run(script, rung="inductor").outcome.kind is OutcomeKind.EXCEPTION


def test_closing_the_iterator_ends_what_still_runs(runner: ForkServerRunner) -> None:
    began = time.monotonic()
    stream = runner.run_many([OK + "time.sleep(600)\n", OK, OK], timeout=900.0)
    index, result = next(stream)
    assert (index, result.outcome.kind) == (1, OutcomeKind.OK)
    stream.close()
    assert time.monotonic() - began < 60
    assert _left_behind(runner) == []


def test_a_passing_candidate_is_cut_off_and_never_built(runner: ForkServerRunner) -> None:
    failing = HEAD + INPUTS + BROKEN_MUL + INDUCTOR
    no_library = (
        "import glob\nbuilt = glob.glob(os.environ['TORCHINDUCTOR_CACHE_DIR'] + '/**/*.so', recursive=True)\n"
        "assert not built, built\n"
    )
    training = HEAD + INPUTS + "x.requires_grad_()\n" + INDUCTOR.strip() + ".sum().backward()\n" + no_library
    signature = runner.run(failing).signature
    assert signature is not None
    focused = CutOffRunner(runner, signature)
    try:
        focused.run(failing)
        assert focused.learned() == "lowering"
        passing = focused.run(training)
        assert (passing.outcome.kind, passing.outcome.detail) == (OutcomeKind.OK, "cut off after lowering")
        assert _same(focused.run(failing), "lowering", focused)
    finally:
        focused.close()


@pytest.mark.parametrize("phase", ["lowering", "scheduling", "codegen"])
def test_later_graphs_still_get_their_chance_to_fail(runner: ForkServerRunner, phase: str) -> None:
    two = (
        HEAD
        + "def g(x, w):\n    return (x @ w).relu()\n"
        + INPUTS
        + BROKEN_MUL
        + INDUCTOR.replace("(f,", "(g,")
        + INDUCTOR
    )
    facts = runner.run_cut(Query(two, None, 60.0), Cancel(), phase)
    assert facts.cut
    assert facts.result.outcome.kind is OutcomeKind.EXCEPTION
    assert facts.result.notes.last_breadcrumb.startswith("lowering of the forward graph")


def test_a_candidate_that_kills_the_server_gets_a_process_of_its_own(tmp_path: Path) -> None:
    assassin = (
        HEAD
        + INPUTS
        + EAGER
        + "if 'forkserver' in open(f'/proc/{os.getppid()}/cmdline').read(): os.kill(os.getppid(), 9)\n"
    )
    runner = ForkServerRunner(sys.executable, jobs=1)
    try:
        assert runner.run(assassin).outcome.kind is OutcomeKind.OK
        assert runner.run(OK).outcome.kind is OutcomeKind.OK
        assert runner.why_slow is None
    finally:
        runner.close()


def test_nothing_survives_an_orchestrator_that_is_killed(tmp_path: Path) -> None:
    sleeper = OK + NOTES_AND_SLEEPS
    program = (
        "import sys\nfrom triage.trial.runner import ForkServerRunner\n"
        "ForkServerRunner(sys.executable, jobs=1).run(sys.argv[1], timeout=900)\n"
    )
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root), "TMPDIR": str(tmp_path)}
    kill_and_see_nothing_left(program, sleeper, env, tmp_path)


def test_where_the_server_cannot_start_candidates_run_in_fresh_processes(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text(
        f'#!/bin/sh\ncase "$2" in warm.forkserver) echo \'no torch here\' >&2; exit 1;; esac\nexec {sys.executable} "$@"\n'
    )
    fake.chmod(0o755)
    runner = ForkServerRunner(str(fake), jobs=1)
    try:
        assert runner.run(OK).outcome.kind is OutcomeKind.OK
        assert runner.why_slow == "no torch here"
    finally:
        runner.close()


def test_verification_keeps_the_users_settings_and_an_empty_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    check = "assert os.listdir('.') == ['repro.py']\nassert os.environ['OMP_NUM_THREADS'] == '3'\n"
    (result,) = verify(HEAD + check + INPUTS + EAGER + "raise KeyError('x')\n", sys.executable, runs=1)
    assert result.signature.exception_type == "KeyError"


def _same(result: CandidateResult, phase: str, runner: CutOffRunner) -> bool:
    return result.signature is not None and "planted" in result.signature.message and runner.cut_off == phase


def _left_behind(runner: ForkServerRunner) -> list[str]:
    """Processes that run in the runner's directory or below the server, except the server itself."""
    home = str(runner._home())
    server = runner._server._process.pid if runner._server is not None else -1
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            place = str((entry / "cwd").readlink())
        except (OSError, ValueError):
            continue
        if int(entry.name) != server and (parent == server or place.startswith(home)):
            found.append(f"{entry.name} {place}")
    return found


def test_a_graph_with_collectives_runs_alone_also_where_it_was_made_for_two_ranks(runner: ForkServerRunner) -> None:
    def graph(target: str, *rest: object, rows: int) -> str:
        nodes = [
            GraphNode("sent", "call_function", f"torch.ops._c10d_functional.{target}", [{"ref": "x"}, *rest, "7"]),
            GraphNode("got", "call_function", "torch.ops._c10d_functional.wait_tensor", [{"ref": "sent"}]),
            GraphNode(
                "y", "call_function", "torch.sin", [{"ref": "got"}], out=[TensorMeta((rows, 8), (8, 1), "float32")]
            ),
        ]
        x = GraphInput("x", meta=TensorMeta((4, 8), (8, 1), "float32"))
        return print_case(GraphCase("dynamo", inputs=(x,), nodes=tuple(nodes), outputs=({"ref": "y"},)))

    texts = [graph("all_reduce", "sum", rows=4), graph("all_gather_into_tensor", 2, rows=8)]
    for _, result in runner.run_many(texts, timeout=90.0):
        assert result.outcome.kind is OutcomeKind.OK, result


AS_IT_IS = """import atexit, os, sys, threading
import torch
print(__name__, __file__, sys.argv, os.getcwd(), sys.path[0], os.environ["NAME"])
print(torch.get_num_threads(), torch.compile(lambda x: x.sin() + 1)(torch.ones(3)))
atexit.register(print, "at exit", flush=True)
threading.Thread(target=lambda: print("in a thread")).start()
sys.exit(0 if sys.argv[1] == "well" else 3)
"""


def test_a_program_that_is_lent_the_interpreter_runs_as_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(AS_IT_IS)
    (tmp_path / "sets.py").write_text("import os\nos.environ['TORCHINDUCTOR_FREEZING'] = '1'\nprint('on')\n")
    (tmp_path / "hides").mkdir()
    (tmp_path / "hides" / "sympy.py").write_text("")
    (tmp_path / "hides" / "program.py").write_text("import sympy\n")
    lender = Lender(sys.executable, neutral_store())
    answers: list[Exit | None] = []

    def lent(launch: Launch, cancel: Cancel | None) -> Exit:
        answers.append(run_borrowed(lender.address, launch, cancel))
        return answers[-1] or Exit(None, 0.0)

    other = {tmp_path / "program.py": (AS_IT_IS + "# changed\n").replace("in a", "in the changed").encode()}

    def ran(name: str, *words: str, start: Callable[..., Exit] | None = None) -> tuple[Outcome, str]:
        target, overlay = (
            Target(sys.executable, (sys.executable, *words), tmp_path),
            other if "changed" in words else {},
        )
        env = {"NAME": "value"}
        request = ProbeRequest(name, target, None, 600.0, tmp_path / "run", extra_env=env, overlay=overlay)
        probe = run_probe(request, start=start) if start is not None else run_probe(request)
        return probe.outcome, (tmp_path / "run" / "logs" / f"{name}.out.log").read_text()

    try:
        for words in (("program.py", "well"), ("program.py", "badly"), ("program.py", "changed")):
            there, here = ran("lent", *words, start=lent), ran("own", *words)
            assert (there[0].kind, there[0].exit_code, there[1]) == (here[0].kind, here[0].exit_code, here[1])
            assert "at exit" in there[1]
            assert ("in the changed thread" in there[1]) == ("changed" in words)
        for words in (("sets.py",), ("hides/program.py",)):
            run_probe(
                ProbeRequest("none", Target(sys.executable, (sys.executable, *words), tmp_path), None, 60.0, tmp_path),
                start=lent,
            )
            assert answers[-1] is None
    finally:
        lender.close()
