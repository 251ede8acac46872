"""What is quoted of a run's output."""

from __future__ import annotations

from triage.report.logs import readable, telling_log


def test_the_last_traceback_comes_with_its_causes() -> None:
    first, second, third = (f"Traceback (most recent call last):\nE{number}\n" for number in range(3))
    chain = f"{second}\nThe above exception was the direct cause of the following exception:\n\n{third}"
    assert telling_log(f"log\n{first}more log\n{chain}") == chain
    assert telling_log(f"{chain}{first}") == first


def test_a_log_without_a_traceback_is_quoted_whole() -> None:
    assert telling_log("terminate called\n") == "terminate called\n"


def test_the_traceback_of_a_rank() -> None:
    log = "a\n[rank0]: Traceback (most recent call last):\n[rank0]:     x = f(y)\n[rank0]:         ^^^^\n[rank0]: E\n"
    assert telling_log(log) == "[rank0]: Traceback (most recent call last):\n[rank0]:     x = f(y)\n[rank0]: E\n"


def test_frames_of_ours_are_left_out() -> None:
    log = (
        '  File "/w/x/triage/agent/frames.py", line 36, in inner_call\n    return inner(self)\n'
        '  File "/w/x/train.py", line 3, in f\n    g()\n'
        '  File "/v/site-packages/triage/agent/frames.py", line 36, in no_source\n'
        '  File "/v/lib/python3.11/site-packages/torch/_ops.py", line 9, in __call__\n    return h()\n'
        '  File "/w/x/triage/agent/frames.py", line 36, in last\n'
        "ValueError: no\n"
    )
    assert readable(log) == (
        '  File "/w/x/train.py", line 3, in f\n    g()\n'
        '  File "torch/_ops.py", line 9, in __call__\n    return h()\n'
        "ValueError: no\n"
    )


def test_information_goes_and_warnings_stay() -> None:
    log = (
        "I1121 11:29:22.162000 21370 torch/_inductor/remote_cache.py:488] Cache Metrics: None\n"
        "V1121 11:29:22.162000 21370 /v/torch/_dynamo/guards.py:48] [0/0] guard\n"
        "[rank1]:I1121 11:29:22.162000 21370 torch/_dynamo/utils.py:925] x\n"
        "W1121 11:29:22.162000 21370 torch/_dynamo/convert_frame.py:1] WON'T CONVERT f\n"
        "In 1121 words\n"
        "I1121 11:29:22.162000 21370 torch/_dynamo/eval_frame.py:772] ]"
    )
    assert readable(log).splitlines() == [
        "W1121 11:29:22.162000 21370 torch/_dynamo/convert_frame.py:1] WON'T CONVERT f",
        "In 1121 words",
    ]
