"""PyTorch's own minifier, used as it is documented, measured, and judged by our oracle.

The program is run once more under TORCHDYNAMO_REPRO_AFTER (with the stage and level that suit the failure, which a person
would have to know), and leaves `minifier_launcher.py`; that is run without arguments, so with its defaults: after `aot` a
fresh process per query (`--isolate`). Its result is the `repro.py` it leaves in its working directory, whether it ended by
itself or at the time limit. Nothing of it is changed but the directories of caches and dumps.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from measured import TORCH, Measured
from stopwatch import Stopwatch

from triage.judge.judgement import Oracle
from triage.judge.likeness import same_failure
from triage.model.stage import OutcomeKind
from triage.probe.launch import Exit, Launch, launch
from triage.probe.staging import environment, harvest_neutral, make_stage
from triage.probe.target import Target
from triage.reduce.interface import Problem
from triage.reduce.minifier.checkpoints import OURS, Checkpoint, without_settings
from triage.reduce.minifier.choice import choose_minifier
from triage.reduce.minifier.ending import dump_sentence, judge_script, launcher_sentence
from triage.reduce.minifier.launcher import LAUNCHER, Workbench
from triage.reduce.printing.printer import code_lines

RESULT = "repro.py"
# What our own probes ask of torch for their logs' sake; a person who follows the documentation does not set it.
NOT_DOCUMENTED = ("TRIAGE_AGENT", "TORCH_LOGS", "TORCHDYNAMO_VERBOSE")
# Statements of a graph that compute nothing: sizes and switches of modes, which our own count leaves out too.
NOT_COUNTED = ("size", "sym_size", "_set_grad_enabled", "_enter_autocast", "_exit_autocast", "manual_seed")

_MADE = re.compile(r"^Made (\d+) queries", re.MULTILINE)
_STARTED = re.compile(r"^Started off with (\d+) nodes", re.MULTILINE)
_STRATEGY = re.compile(r"^Strategy: .+$", re.MULTILINE)


@dataclass(frozen=True)
class Queries:
    """How often the minifier asked. `exact` is False for a lower bound."""

    number: int
    exact: bool = True


def measure(
    target: Target,
    problem: Problem,
    oracle: Oracle,
    directory: Path,
    neutral: Path | None,
    *,
    limit: float,
    program_limit: float,
    runs: int,
) -> Measured:
    """Capture, minify, verify. `directory` is the run directory; what is worth keeping goes to `problem.workdir`."""
    chosen = choose_minifier(problem.stage, problem.signature)
    if isinstance(chosen, str):
        return Measured(TORCH, remark=chosen)
    keep = problem.workdir / "torch_minifier"
    with Workbench(target, directory, keep, neutral) as bench:
        dumped = bench.dump(chosen, problem.rung, program_limit)
        capture = dumped.outcome.seconds
        if dumped.launcher is None:
            same = dumped.signature is not None and same_failure(dumped.signature, problem.signature)
            return Measured(TORCH, capture=capture, remark=dump_sentence(dumped.outcome, same, str(chosen)))
        with Stopwatch() as watch:
            done, output = run_launcher(target.python, dumped.launcher, keep / "run", neutral, limit)
        source = _read(keep / "run" / RESULT)
        asked = queries(output, len(list((keep / "run" / "isolate").glob("*.py"))))
        found = Measured(
            TORCH,
            seconds=done.seconds,
            cpu=watch.cpu,
            capture=capture,
            queries=asked.number,
            at_least=not asked.exact,
            ops_before=operations(dumped.launcher),
            timed_out=done.timed_out,
            remark=str(chosen),
        )
        if source is None:
            sentence = launcher_sentence(output, timed_out=done.timed_out, seconds=done.seconds)
            return replace(found, remark=f"{chosen}: {sentence}")
        # Its inputs lie in the bench's directory, so it is judged while that is there.
        final = Checkpoint(keep / "run" / RESULT, without_settings(source, OURS), 0)
        compared = problem.signature.kind is OutcomeKind.WRONG_RESULT
        seen = []
        for _ in range(runs):
            result = bench.run(final, program_limit)
            seen.append(judge_script(result, oracle.judge(result), problem.signature, compares=compared))
        wrong = next((one.sentence for one in seen if not one.same), "")
        ops = operations(source)
        return replace(
            found,
            ops=ops,
            lines=None if ops is None else code_lines(source),
            verified=sum(one.same for one in seen),
            runs=runs,
            remark=f"{chosen}{': its script ' + wrong if wrong else ''}",
        )


def run_launcher(python: str, launcher: str, place: Path, neutral: Path | None, limit: float) -> tuple[Exit, str]:
    """Run a launcher in `place`, without arguments; how it ended and all that it said."""
    place.mkdir(parents=True, exist_ok=True)
    (place / LAUNCHER).write_text(launcher, encoding="utf-8")
    out, err = place / "launcher.out.log", place / "launcher.err.log"
    stage = make_stage(neutral)
    try:
        env = environment(os.environ, stage, {}, trace=None, extra={"TORCH_COMPILE_DEBUG_DIR": str(place)})
        for name in NOT_DOCUMENTED:
            env.pop(name, None)
        done = launch(Launch((python, LAUNCHER), place, env, out, err, limit))
        if not done.timed_out:
            harvest_neutral(stage, neutral)
    finally:
        stage.remove()
    return done, (_read(err) or "") + "\n" + (_read(out) or "")


def queries(output: str, isolated: int) -> Queries:
    """How often a launcher asked, from its log (torch/_functorch/fx_minifier.py) and the scripts of its isolated queries.

    It tells the number at its end; when it was ended before that, each isolated query has left a script. Else only those
    are known that the log shows: the first check, and two for each success (the trial, and a check before it is kept).
    """
    made = _MADE.findall(output)
    if made:
        return Queries(sum(map(int, made)))
    if isolated:
        return Queries(isolated)
    known = len(_STARTED.findall(output))
    for strategy in _STRATEGY.split(output)[1:]:
        known += 2 if "SUCCESS: " in strategy else 0
    return Queries(known, exact=False)


def operations(source: str) -> int | None:
    """Operations of the graph in a script of PyTorch's: calls and operators in `forward`, as our own count has it.

    Not counted: renamed inputs, elements picked from a result, sizes. None where the script does not parse.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "forward"]
    return sum(_computes(statement) for body in bodies for statement in body)


def _computes(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AugAssign):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    if isinstance(statement.targets[0], ast.Subscript):
        return True
    value = statement.value
    if isinstance(value, ast.Call):
        return not any(name in NOT_COUNTED for name in ast.unparse(value.func).split("."))
    if isinstance(value, ast.Subscript):  # a slice is an operation, an element of a tuple is not
        return not (isinstance(value.slice, ast.Constant) and isinstance(value.slice.value, int))
    return isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare))


def _read(path: Path) -> str | None:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return None
