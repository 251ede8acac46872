"""An interrupt that arrives where the interpreter drops exceptions is not lost."""

import subprocess
import sys
import textwrap

import pytest


@pytest.mark.parametrize(("seconds", "name"), [(0.0, "SIGINT"), (0.5, "SIGINT"), (0.0, "SIGTERM")])
def test_an_interrupt_in_the_callback_of_a_weak_reference_arrives_later(seconds: float, name: str) -> None:
    """However long it takes until it can be sent anew; SIGTERM also in a job in the background, which ignores ctrl-C."""
    script = """
        import signal, sys, threading, time, weakref
        from triage.cli import app

        start = threading.Thread.start
        threading.Thread.start = lambda thread: (start(thread), time.sleep(float(sys.argv[1])))

        class Thing:
            pass

        number = getattr(signal, sys.argv[2])
        if number != signal.SIGINT:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        app._end_like_ctrl_c()
        app._lose_no_interrupt()
        hook, dropped = sys.unraisablehook, []
        sys.unraisablehook = lambda lost: (dropped.append(lost.exc_type.__name__), hook(lost))
        thing = Thing()
        reference = weakref.ref(thing, lambda _: signal.raise_signal(number))
        try:
            del thing
            time.sleep(20)
        except KeyboardInterrupt:
            print("dropped", *dropped, "and arrived")
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(seconds), name]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("dropped KeyboardInterrupt and arrived\n", "", 0)
