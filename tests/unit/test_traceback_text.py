"""Tracebacks as programs, launchers and loggers print them."""

import time
import traceback

import numpy
import pytest

from triage.model.outcome import Frame
from triage.probe.traceback_text import last_traceback

PLAIN = """\
step 1 loss 0.3
Traceback (most recent call last):
  File "/home/ann/my models/train.py", line 31, in <module>
    main()
  File "/home/ann/my models/train.py", line 12, in main
    return self.head(x)
           ^^^^^^^^^^^^
RuntimeError: size mismatch
"""


def test_type_message_and_frames() -> None:
    found = last_traceback(PLAIN)
    assert (found.type, found.message, found.phase, found.rank) == ("RuntimeError", "size mismatch", "text", None)
    assert found.frames[-1] == Frame("/home/ann/my models/train.py", 12, "main", "return self.head(x)")
    assert [frame.function for frame in found.frames] == ["<module>", "main"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no error here",
        "Traceback (most recent call last):\n",
        'Traceback (most recent call last):\n  File "x.py", line',
    ],
)
def test_no_traceback(text: str) -> None:
    assert last_traceback(text) is None


def test_the_last_one_counts_and_a_torn_one_does_not() -> None:
    chained = (
        PLAIN
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + PLAIN.replace("RuntimeError: size mismatch", "KeyError: 'w'")
    )
    found = last_traceback(chained)
    assert found is not None and (found.type, found.message) == ("KeyError", "'w'")
    torn = last_traceback(PLAIN + 'Traceback (most recent call last):\n  File "x.py", line 3, in f\n')
    assert torn is not None and torn.type == "RuntimeError"


@pytest.mark.parametrize("last", ["subprocess.CalledProcessError: no\n", "no error line\n"])
def test_megabytes_of_tracebacks_that_do_not_tell_are_read_in_moments(last: str) -> None:
    one = "".join(PLAIN.splitlines(keepends=True)[1:-1]) + last
    began = time.process_time()
    found = last_traceback(one * 10_000)
    assert time.process_time() - began < 5
    assert (found is not None) == last.startswith("subprocess")


def test_what_failed_stands_before_thousands_of_a_loggers_own_errors() -> None:
    wrong = (
        "--- Logging error ---\n" + PLAIN.replace("RuntimeError: size mismatch", "TypeError: not all arguments") + "\n"
    )
    began = time.process_time()
    found = last_traceback(PLAIN + "\n" + wrong.replace("step 1 loss 0.3\n", "") * 10_000)
    assert time.process_time() - began < 5
    assert found is not None and found.type == "RuntimeError"


def test_ranks_that_print_at_the_same_time() -> None:
    lines = PLAIN.splitlines()[1:]
    other = [line.replace("RuntimeError: size mismatch", "ValueError: other rank") for line in lines]
    mixed = "\n".join(f"[rank1]: {right}\n[rank0]: {left}" for left, right in zip(lines, other, strict=True))
    found = last_traceback(mixed)
    assert (found.type, found.message, found.rank, len(found.frames)) == ("RuntimeError", "size mismatch", 0, 2)


def test_what_torchrun_prints() -> None:
    ranked = "\n".join(f"[default1]:[rank1]: {line}" for line in PLAIN.splitlines()[1:])
    launcher = """
E1121 12:00:01.000000 412 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: 1) local_rank: 1
Traceback (most recent call last):
  File "/opt/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
"""
    found = last_traceback(ranked + launcher)
    assert found is not None and (found.type, found.rank) == ("RuntimeError", 1)
    alone = last_traceback(launcher)
    assert alone is not None and alone.type.endswith("ChildFailedError")


def test_a_logged_traceback() -> None:
    logged = "\n".join(
        f"E1121 12:00:01.000000 412 torch/_dynamo/convert_frame.py:1280] [0/1] {line}"
        for line in PLAIN.splitlines()[1:]
    )
    found = last_traceback(logged)
    assert found is not None and (found.type, found.message) == ("RuntimeError", "size mismatch")


def test_the_child_of_a_spawned_process() -> None:
    head = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    spawn(f)\n'
    head += "torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
    found = last_traceback(head + "-- Process 0 terminated with the following error:\n" + PLAIN)
    assert found is not None and found.type == "RuntimeError"


def test_a_message_that_begins_on_the_next_line() -> None:
    try:
        numpy.testing.assert_allclose([1.0, 2.0], [1.0, 3.0])
    except AssertionError:
        text = traceback.format_exc()
    found = last_traceback(text)
    assert found.type == "AssertionError"
    assert found.message.lstrip().startswith("Not equal to tolerance")


def test_a_class_defined_in_a_function() -> None:
    class OddError(Exception):
        pass

    try:
        raise OddError("odd")
    except OddError:
        text = traceback.format_exc()
    found = last_traceback(text)
    assert found is not None and found.type.endswith("OddError") and found.message == "odd"


def test_messages_of_torch_have_several_paragraphs_others_one() -> None:
    compiler = PLAIN.replace(
        "RuntimeError: size mismatch",
        "torch._inductor.exc.CppCompileError: C++ compile error\n\nCommand:\ng++\n\nOutput:\nmain.cpp:3:1: error: no",
    )
    found = last_traceback(compiler)
    assert found is not None and "main.cpp:3:1: error: no" in found.message
    found = last_traceback(PLAIN + "\nsome later output\n")
    assert found is not None and found.message == "size mismatch"


def test_an_exception_group() -> None:
    text = """\
  + Exception Group Traceback (most recent call last):
  |   File "x.py", line 3, in <module>
  |     raise ExceptionGroup("two", [ValueError(1), TypeError(2)])
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: 1
"""
    found = last_traceback(text)
    assert found is not None and (found.type, found.message.splitlines()[0]) == (
        "ExceptionGroup",
        "two (2 sub-exceptions)",
    )


def test_an_error_without_a_message() -> None:
    found = last_traceback(PLAIN.replace("RuntimeError: size mismatch", "AssertionError"))
    assert found is not None and (found.type, found.message) == ("AssertionError", "")


def test_a_logger_that_could_not_write_is_no_failure() -> None:
    complaint = PLAIN.replace("RuntimeError: size mismatch", "ValueError: closed file")
    complaint = complaint.replace("Traceback (most", "--- Logging error ---\nTraceback (most")
    assert last_traceback(complaint) is None
    found = last_traceback(PLAIN + complaint)
    assert found is not None and found.type == "RuntimeError"
