"""Files that are whole or as they were."""

from pathlib import Path

import pytest

from triage.environments.files import write_whole


def test_a_write_that_is_interrupted_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "repro.py"
    write_whole(file, "first\n")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(file, "second\n")
    assert file.read_text() == "first\n"
    assert [item.name for item in tmp_path.iterdir()] == ["repro.py"]


def test_what_is_written_is_whole_and_keeps_its_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "repro.py"
    write_whole(file, "x = '\udcff'\n" * 3)
    assert file.read_bytes() == b"x = '?'\n" * 3
