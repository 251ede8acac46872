"""Two sweeps over the same scripts: each is known again, wherever it lies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.model.sweep import Fate, ScriptResult, SweepReport
from triage.report.redact import redactor_here
from triage.report.writing import load_sweep, write_sweep
from triage.stories.sweep import exit_code
from triage.stories.sweep_against import against, failing_in


def sweep(**fates: Fate) -> SweepReport:
    results = (ScriptResult(f"/tmp/somewhere/{name}.py", fate) for name, fate in fates.items())
    return SweepReport(scripts=len(fates), failing=0, clusters=(), results=tuple(results))


@pytest.mark.parametrize("redact", [True, False])
def test_scripts_outside_of_the_current_directory_are_known_again(tmp_path: Path, redact: bool) -> None:
    earlier = sweep(one=Fate.PASSES, two=Fate.FAILS, gone=Fate.PASSES)
    write_sweep(tmp_path, earlier, redactor_here(Path.cwd(), redact=redact))
    now = sweep(one=Fate.FAILS, two=Fate.PASSES, three=Fate.PASSES)
    found = against(now, tmp_path, tmp_path)
    assert [Path(name).stem for name in (*found.new, *found.fixed, *found.only_here, *found.only_there)] == [
        *("one", "two", "three", "gone")
    ]
    assert exit_code(replace(now, against=found)) == 1
    failed_there = failing_in(tmp_path)
    assert (failed_there("/tmp/somewhere/two.py"), failed_there("/tmp/somewhere/one.py")) == (True, False)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x7fELF\xf0\x28", "python is not the sweep.json that a sweep of this version writes."),
        (b"#!/bin/sh", "python is not the sweep.json that a sweep of this version writes."),
        (b'{"schema_version": 1}', "python is not the sweep.json that a sweep of this version writes."),
        (None, "FileNotFoundError: "),
    ],
)
def test_what_is_no_sweep_is_told_in_plain_words(tmp_path: Path, content: bytes | None, why: str) -> None:
    if content is not None:
        (tmp_path / "python").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load_sweep(tmp_path / "python")
    assert caught.value.why.startswith(why)
    assert "directory that an earlier sweep was given" in caught.value.next
