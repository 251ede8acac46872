"""Standard input is read once and kept; what cannot be given twice is refused, and nothing is waited for that may never come."""

import os
import sys
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.probe import stdin
from triage.probe.launch import Launch, launch


def given(data: bytes, *, closed: bool = True) -> int:
    """The reading end of a pipe with these bytes in it."""
    reading, writing = os.pipe()
    os.write(writing, data)
    if closed:
        os.close(writing)
    return reading


def test_a_pipe_is_kept_whole(tmp_path: Path) -> None:
    kept = stdin.take(tmp_path, given(b"one\ntwo\n"))
    assert kept.read_bytes() == b"one\ntwo\n"
    assert stdin.kept_in(tmp_path) == kept


def test_a_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_bytes(b"{}\n" * 3)
    with (tmp_path / "requests.jsonl").open("rb") as file:
        kept = stdin.take(tmp_path, file.fileno())
    assert kept.read_bytes() == b"{}\n" * 3


def test_what_is_empty_is_none(tmp_path: Path) -> None:
    with Path(os.devnull).open("rb") as nothing:
        assert stdin.take(tmp_path, nothing.fileno()) is None
    assert stdin.take(tmp_path, given(b"")) is None
    assert stdin.take(tmp_path, 9999) is None  # closed
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_that_somebody_left_open_is_not_waited_for(tmp_path: Path) -> None:
    assert stdin.take(tmp_path, given(b"", closed=False)) is None


def test_what_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="every probe"):
        stdin.take(tmp_path, given(b"x" * 5000), limit=4096)


def test_what_does_not_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdin, "PAUSE_SECONDS", 0.05)
    with pytest.raises(UsageError, match="every probe"):
        stdin.take(tmp_path, given(b"half a li", closed=False))


@pytest.mark.parametrize("data", [b"from a pipe\n", None])
def test_a_target_reads_it_each_time(tmp_path: Path, data: bytes | None) -> None:
    kept = tmp_path / "kept" if data is not None else None
    if kept is not None and data is not None:
        kept.write_bytes(data)
    for number in range(2):
        out = tmp_path / f"{number}.out"
        program = (sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())")
        done = launch(Launch(program, tmp_path, os.environ, out, tmp_path / "err", 60.0, stdin=kept))
        assert done.code == 0 and out.read_bytes() == (data or b"")
