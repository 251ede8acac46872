"""A candidate says where it is at the end of its time, and not before: on a busy machine that is long after its limit."""

from __future__ import annotations

import faulthandler
import os
import sys
import time
from pathlib import Path

import pytest

from triage.agent.warm import proc
from triage.agent.warm.children import Child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="candidates are forked on Linux")


def candidate(folder: Path, *, tells: bool) -> int:
    """A process that stands still, and writes its stacks where it is asked to."""
    channel = folder / "channel"
    channel.mkdir()
    ready, begun = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            if tells:
                file = (channel / f"stacks-{os.getpid()}.txt").open("w")
                faulthandler.register(proc.STACKS_SIGNAL, file=file)
            os.write(begun, b"x")
            time.sleep(60)
        finally:
            os._exit(70)
    os.read(ready, 1)
    return pid


def ended(child: Child) -> int:
    """The signal that it died of."""
    for _ in range(400):
        child.watch(time.monotonic())
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        if pid:
            return os.WTERMSIG(status)
        time.sleep(0.02)
    raise AssertionError("it was not ended")


@pytest.mark.parametrize("tells", [True, False])
def test_it_is_asked_where_it_is_when_its_time_is_up(tmp_path: Path, tells: bool) -> None:
    pid = candidate(tmp_path, tells=tells)
    child = Child({"id": 1, "timeout": 0.5, "root": str(tmp_path)}, pid, (), 0)
    child.deadline += 0.5  # it was starved
    ended(child)
    assert child.reason == "timed_out" and time.monotonic() - child.began >= 1.0
    told = [path.read_text() for path in (tmp_path / "channel").glob("stacks-*.txt")]
    assert [f"in {candidate.__name__}" in text for text in told] == [True] * tells


def test_one_that_is_cancelled_is_not_asked(tmp_path: Path) -> None:
    pid = candidate(tmp_path, tells=True)
    child = Child({"id": 1, "timeout": 60.0, "root": str(tmp_path)}, pid, (), 0)
    child.end("cancelled", 0.0)
    ended(child)
    assert child.reason == "cancelled"
    assert [path.stat().st_size for path in (tmp_path / "channel").glob("stacks-*.txt")] == [0]
