"""What is asked of the target beside its runs: whether it can be triaged at all, and what it holds. Nobody waits long for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from triage.environments.describe import (
    WARM_FILE,
    TargetEnvironment,
    describe_target,
    require_torch,
    told_of,
    warm_script,
)
from triage.errors import TargetError
from triage.judge.naming import in_short
from triage.judge.skeleton import short_type
from triage.locate.doors import by_compile
from triage.model.outcome import Outcome
from triage.model.stage import OutcomeKind
from triage.probe.launch import Cancel, text_of
from triage.probe.run import Probe
from triage.probe.target import Target, check_module, check_named, check_package, check_program
from triage.trial.runner import ForkServerRunner

NO_PYTHON_SECONDS = 10.0  # what is waited for a target to say that it is no Python at all
ENDING_SECONDS = 5.0


def check_started(probe: Probe, target: Target, command: str, ask: Callable[[], object] = lambda: None) -> None:
    """Raise TriageError where the command could not be run, or, when `ask` had nothing better to say, we could not get in."""
    if probe.outcome.kind is OutcomeKind.INVALID:
        raise TargetError(
            what="The command could not be started.",
            why=probe.outcome.detail or "The operating system refused.",
            next="Run the same command without triage first.",
        )
    check_module(target, probe.outcome.detail)
    if probe.outcome.kind is not OutcomeKind.OK:
        check_named(target, text_of(probe.log))
        check_package(target, probe.outcome.exception)
    if not probe.notes.started:
        ask()
        check_program(target)
        raise TargetError(
            what="triage could not get into the target process.",
            why="Python did not load our sitecustomize: it runs with -I, -E or -S.",
            next=f"Drop those flags, or name the script itself: triage {command} script.py",
        )
    _check_reached(probe, command)


def _check_reached(probe: Probe, command: str) -> None:
    """Raise TargetError where a process that none of our agents is in failed in torch.compile: on each rung it does the same."""
    error = probe.outcome.exception
    if error is None or error.phase != "text" or probe.notes.compile_calls or not by_compile(error):
        return
    told = in_short(probe.signature) if probe.signature is not None else short_type(error.type)
    raise TargetError(
        what="triage could not get into the process that compiles.",
        why=f"Its traceback is there ({told}), and no process that "
        "loaded our sitecustomize called torch.compile: that one is started without the variables of its parent "
        "(PYTHONPATH), or with -I, -E or -S.",
        next=f"Name what it runs, with its arguments: triage {command} {Path(error.frames[0].file).name}",
    )


class AskedTarget:
    """The target is asked about itself in the background, while the first probes run; for a screening only if need be.

    The interpreter that a `runner` warms comes first: it is wanted sooner, and then has the versions at hand; the page takes it
    some seconds more, and until then they are the answer.
    """

    def __init__(self, target: Target, runner: ForkServerRunner | None = None) -> None:
        self.target = target
        self._runner = runner
        self.cancel = Cancel()
        self._answer: TargetEnvironment | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._ask, args=(target.python,), daemon=True)

    def begin(self) -> None:
        """Ask, if it was not asked yet."""
        if self._thread.ident is None:
            self._thread.start()

    def _ask(self, python: str) -> None:
        try:
            self._answer = self._told_warm(python, page=False)
            told = self._told_warm(python, page=True) if self._answer is not None else None
            if told is not None:
                self._answer = told
            elif not self.cancel.is_set():
                self._answer = describe_target(python, cancel=self.cancel)
        except Exception as error:  # noqa: BLE001  raised where it is asked for
            self._error = error

    def _told_warm(self, python: str, *, page: bool) -> TargetEnvironment | None:
        if self._runner is None:
            return None
        with contextlib.suppress(OSError, ValueError):  # what cannot be asked there is asked of a plain interpreter
            self._runner.warmed()
            return told_of(python, self._runner.look(warm_script(page=page), WARM_FILE) or "")
        return None

    def check_usable(self, first: Probe) -> None:
        """Raise TargetError where the first probe shows that the target cannot be triaged at all."""
        # Where it is no Python at all, that is the better thing to say than that we could not get in.
        check_started(first, self.target, "run", lambda: self.answer(NO_PYTHON_SECONDS))
        if first.notes.torch_version is None and _fails_in_torch(first.outcome):
            environment = self.answer()
            if environment is not None:
                require_torch(environment)

    def answer(self, seconds: float | None = None) -> TargetEnvironment | None:
        """What it said (within that time). Raises TargetError where it cannot be run."""
        found = self.waited(seconds)
        if isinstance(self._error, TargetError):
            raise self._error
        return found

    def waited(self, seconds: float | None) -> TargetEnvironment | None:
        """What it said (within that time). The script ran, so a question that was not answered costs a section only."""
        self.begin()
        self._thread.join(seconds)  # the question has a time limit of its own
        return self._answer

    def last_words(self, seconds: float) -> TargetEnvironment | None:
        """What it says within that time; then it is asked nothing more. Nothing, where it was not asked."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        self.cancel.set()
        return self._answer

    def ended(self) -> None:
        """Wait until nothing of the question is left running, once the warm interpreter was let go."""
        self.cancel.set()
        if self._thread.ident is not None:
            self._thread.join(ENDING_SECONDS)


def _fails_in_torch(outcome: Outcome) -> bool:
    """Whether the program ended because torch could not be imported."""
    error = outcome.exception
    return error is not None and ("torch" in error.message or any("/torch/" in frame.file for frame in error.frames))
