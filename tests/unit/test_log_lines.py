"""Which lines of a log stand out; nothing of it is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.report.logs import coloured

LOG = """compiling
Traceback (most recent call last):
  File "train.py", line 24, in <module>
    step(x)
  File "torch/_dynamo/eval_frame.py", line 1446, in _fn
    return fn(*args, **kwargs)
  File "/usr/lib/python3.11/threading.py", line 1, in run
    self()
torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
AssertionError: expected size 4==4

Set TORCHDYNAMO_VERBOSE=1
"""


def test_own_frames_and_the_error_stand_out() -> None:
    styles = {line: style for style, text in coloured(LOG) for line in text.splitlines()}
    assert styles == {
        "compiling": "",
        "Traceback (most recent call last):": "",
        '  File "train.py", line 24, in <module>': "mine",
        "    step(x)": "mine",
        '  File "torch/_dynamo/eval_frame.py", line 1446, in _fn': "dim",
        "    return fn(*args, **kwargs)": "dim",
        '  File "/usr/lib/python3.11/threading.py", line 1, in run': "dim",
        "    self()": "dim",
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:": "err",
        "AssertionError: expected size 4==4": "err",
        "": "",
        "Set TORCHDYNAMO_VERBOSE=1": "",
    }


@pytest.mark.parametrize(
    ("line", "style"),
    [
        ("main.cpp:7:3: error: 'compile' was not declared in this scope", "err"),
        ("[rank1]: RuntimeError: no", "err"),
        ("Fatal Python error: Segmentation fault", "err"),
        ("/x/y.py:3: UserWarning: old", "warn"),
        ("W1123 07:43:01.1 12 torch/_x.py:1] slow", "warn"),
        ("loss 0.3, error 0.1", ""),
        ("RuntimeErrors are counted here", ""),
    ],
)
def test_a_line_by_itself(line: str, style: str) -> None:
    assert coloured(line) == [(style, line)]


@given(st.lists(st.sampled_from([*LOG.splitlines(), "x\r", "\x0c", '[rank0]:   File "a.py", line 1'])).map("\n".join))
def test_nothing_is_lost(log: str) -> None:
    assert "".join(text for _, text in coloured(log)) == log
