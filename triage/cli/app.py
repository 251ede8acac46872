"""`triage`: the commands, and what an error looks like.

Nothing heavy is imported here: each command imports its story when it runs, so that `triage --help` is quick.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType

import typer

import triage
from triage.cli import bisect, compare, doctor, explain, report, run, runs, sweep, verify
from triage.cli.examples import epilog
from triage.cli.words import arrange
from triage.errors import EXIT_BUG, EXIT_INTERRUPTED, TriageError

app = typer.Typer(
    name="triage",
    help="From a script that fails under torch.compile to the guilty stage, a verified reproducer and a bug report.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_TARGET = {"allow_interspersed_args": False}  # what stands after the script is the script's
app.command(name="run", epilog=epilog("run"), context_settings=_TARGET)(run.run)
app.command(name="explain", epilog=epilog("explain"), context_settings=_TARGET)(explain.explain)
app.command(name="bisect", epilog=epilog("bisect"))(bisect.bisect)
app.command(name="sweep", epilog=epilog("sweep"))(sweep.sweep)
app.command(name="report", epilog=epilog("report"))(report.report)
app.command(name="verify", epilog=epilog("verify"))(verify.verify)
app.command(name="open", epilog=epilog("open"))(runs.open_run)
app.command(name="compare", epilog=epilog("compare"))(compare.compare)
app.command(name="list", epilog=epilog("list"))(runs.list_runs)
app.command(name="clean", epilog=epilog("clean"))(runs.clean)
app.command(name="doctor", epilog=epilog("doctor"))(doctor.doctor)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"triage {triage.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """From a script that fails under torch.compile to the guilty stage, a verified reproducer and a bug report."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. Every error ends in words and an exit code of the contract, never in a traceback of ours."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _print_anything()
    _end_like_ctrl_c()
    _lose_no_interrupt()
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arrange(command, words), prog_name="triage", standalone_mode=False)
    except TriageError as error:
        code = _tell(error)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        code = 0  # whoever read our output has had enough
    except Exception as error:  # noqa: BLE001  the last resort
        code = _click_error(error)
    if arguments is None:
        _end_undisturbed()
    if code == EXIT_INTERRUPTED:  # however the parser's library tells it
        typer.echo("Interrupted.", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def _print_anything() -> None:
    """Where standard output has no UTF-8, a letter that it does not know is spelled out, as standard error does it."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _end_like_ctrl_c() -> None:
    """A CI job that is cancelled or a terminal that is closed ends a run like ctrl-C: with a report and no process left."""
    import signal

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def _lose_no_interrupt() -> None:
    """An interrupt that arrives in a finaliser or in the callback of a weak reference is dropped by the interpreter, with a
    traceback on the terminal (`sys.unraisablehook`). It is sent anew, from a thread: here it would be lost once more.
    """
    import signal
    import threading
    import time

    main = threading.main_thread().ident or 0

    def send() -> None:
        time.sleep(0.01)
        # On a busy machine it takes longer to return, and what arrives in it is lost too.
        while _is_running(hook.__code__, main):
            time.sleep(0.01)
        heard = [each for each in ending(signal) if callable(signal.getsignal(each))]  # who ignores it is not ended
        signal.pthread_kill(main, heard[0] if heard else signal.SIGINT)

    otherwise = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Thread(target=send, daemon=True).start()
        else:
            otherwise(unraisable)

    sys.unraisablehook = hook


def _is_running(code: CodeType, thread: int) -> bool:
    """Whether a thread is in a function's code, or in what that called."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def ending(signal: ModuleType) -> list[int]:
    """The signals that end a run, as far as this system has them. A job of a shell in the background ignores the first."""
    return [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def _end_undisturbed() -> None:
    """One more ctrl-C while the interpreter ends would take the exit status with it."""
    import signal

    for number in ending(signal):
        signal.signal(number, signal.SIG_IGN)


def _tell(error: TriageError) -> int:
    typer.echo(f"triage: {error.what}\n  why:  {error.why}\n  next: {error.next}", err=True)
    return error.exit_code


def _click_error(error: Exception) -> int:
    """Usage errors of the parser, and, for everything else, where the traceback of our bug lies."""
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        context = getattr(error, "ctx", None)
        what = str(error.format_message())
        name = context.command_path if context is not None else "triage"
        if what:
            typer.echo(f"triage: {what}\n  why:  the command line does not fit.\n  next: {name} --help", err=True)
        return int(error.exit_code)
    if type(error).__name__ == "Abort":
        return EXIT_INTERRUPTED
    return _bug()


def _bug() -> int:
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="triage-bug-", suffix=".txt", delete=False, encoding="utf-8") as file:
        traceback.print_exc(file=file)
        print("arguments:", sys.argv[1:], file=file)
    typer.echo(
        f"triage: a bug of triage itself.\n  why:  {sys.exc_info()[1]!r}"
        f"\n  next: its traceback lies in {file.name}; please report it with that file.",
        err=True,
    )
    return EXIT_BUG


if __name__ == "__main__":
    main()
