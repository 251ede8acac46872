"""The line at which a program ended itself with words of its own, read from its text."""

import pytest

from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.report.exits import exit_line

SOURCE = """import sys
def main(drift):
    if drift > 1:
        raise SystemExit(f"compiled training drifts by {drift:.4f}")
    def check(a, b):
        if a != b:
            sys.exit("results:\\naccuracies differ")
    sys.exit("no")
    print("losses differ"); sys.exit(1)
main(2)
sys.exit("given twice"); sys.exit(main(3))
if main(4):
    print("gradients differ:", main(5), file=sys.stderr)
    main(6)
    raise SystemExit(1)
def told():
    print("weights differ")
    sys.exit(1)
def and_elsewhere():
    print("weights differ")
    return 1
for part in range(3):
    if main(part):
        print(f"frame {part}: apart")
raise SystemExit("given twice")
raise SystemExit(1 if main(6) else 0)
def status():
    for step in range(3):
        if main(step):
            print(f"step {step}: outputs differ")
            return 1
sys.exit(status())
"""


def ended(message: str, kind: str = "SystemExit", frames: tuple[Frame, ...] = ()) -> Outcome:
    return Outcome(OutcomeKind.EXCEPTION, exit_code=1, exception=RaisedException(kind, message, frames, phase="text"))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("compiled training drifts by 0.1234", "a.py:4 in main: raise SystemExit(f\"compiled training drifts by {drift:.4f}\")"),
        ("accuracies differ", 'a.py:7 in check: sys.exit("results:\\naccuracies differ")'),
        ("no", None),  # too short: anything may have said that
        ("losses differ", 'a.py:9 in main: print("losses differ"); sys.exit(1)'),
        ("gradients differ: 0.1", 'a.py:13 in <module>: print("gradients differ:", main(5), file=sys.stderr)'),
        ("frame 2: apart", 'a.py:24 in <module>: print(f"frame {part}: apart")'),
        ("step 1: outputs differ", 'a.py:30 in status: print(f"step {step}: outputs differ")'),
        ("weights differ", None),  # a second print may have said it
        ("given twice", None),
    ],
)  # fmt: skip
def test_the_line_that_says_what_was_printed_last(said: str, told: str | None) -> None:
    found = exit_line(ended(f"exit status 1: {said}"), SOURCE, "/home/ann/a.py")
    assert (found.told if found is not None else None) == told


def test_what_has_a_traceback_or_said_nothing_is_not_looked_for() -> None:
    words = "exit status 1: accuracies differ"
    for outcome in (
        ended("exit status 1"),
        ended(words, "ValueError"),
        ended(words, frames=(Frame("a.py", 1, "f"),)),
        Outcome(OutcomeKind.HANG),
    ):
        assert exit_line(outcome, SOURCE, "a.py") is None
    assert exit_line(ended(words), "def", "a.py") is None
