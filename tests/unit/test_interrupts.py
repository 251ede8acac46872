"""An interrupt that arrives where the interpreter drops exceptions is not lost."""

import subprocess
import sys
import textwrap


def test_an_interrupt_in_the_callback_of_a_weak_reference_arrives_later() -> None:
    script = """
        import signal, sys, time, weakref
        from triage.cli import app

        class Thing:
            pass

        app._lose_no_interrupt()
        hook, dropped = sys.unraisablehook, []
        sys.unraisablehook = lambda lost: (dropped.append(lost.exc_type.__name__), hook(lost))
        thing = Thing()
        reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
        try:
            del thing
            time.sleep(20)
        except KeyboardInterrupt:
            print("dropped", *dropped, "and arrived")
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("dropped KeyboardInterrupt and arrived\n", "", 0)
