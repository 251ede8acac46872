"""Failures that are no bug of the compiler, with real torch: the report begins with the cause and the cure."""

from __future__ import annotations

from pathlib import Path

import known_cause_programs as programs
import pytest
from command import Command

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
CAUSES = [
    pytest.param("no_cxx_compiler", programs.NO_COMPILER, {"CXX": "/nonexistent/g++"}, id="no compiler"),
    pytest.param("data_dependent_branch", programs.DATA_DEPENDENT, {}, id="branch", marks=pytest.mark.quick),
    pytest.param("data_dependent_size", programs.GUARD_ON_VALUE, {}, id="size"),
    pytest.param("graph_break_fullgraph", programs.GRAPH_BREAK, {}, id="graph break"),
    pytest.param("recompile_limit", programs.RECOMPILES, {}, id="recompiles"),
    pytest.param("orig_mod_keys", programs.CHECKPOINT, {}, id="checkpoint"),
    pytest.param("local_rank_spelling", programs.LOCAL_RANK, {}, id="local rank"),
    pytest.param("unknown_backend", programs.UNKNOWN_BACKEND, {}, id="backend"),
    pytest.param("donated_buffers", programs.DONATED, {}, id="donated buffers"),
    pytest.param("different_devices", programs.DEVICES, {}, id="devices", marks=pytest.mark.quick),
    pytest.param("different_dtypes", programs.DTYPES, {}, id="dtypes"),
    pytest.param("inference_tensor", programs.INFERENCE, {}, id="inference tensor"),
    pytest.param("backward_twice", programs.BACKWARD_TWICE, {}, id="backward twice"),
    pytest.param("out_of_memory", programs.OUT_OF_MEMORY, {}, id="memory"),
]


@pytest.mark.parametrize(("cause", "source", "env"), CAUSES)
def test_the_report_begins_with_the_cause_and_the_cure(
    cause: str, source: str, env: dict[str, str], tmp_path: Path
) -> None:
    command = Command(tmp_path)
    done = command("run", "--no-reduce", "--out", "out", command.script(source), **env)
    report = command.report()
    known = report["known_cause"]
    assert known is not None, (report["verdict"], done.stderr)
    assert known["id"] == cause
    body = (command.out / "report.md").read_text().split("### Describe the bug", 1)[1].strip()
    plain = body.split("\n", 1)[0].replace("\\", "").replace("`", "")
    begins = plain.index(known["explanation"].replace("`", "")[:60])
    assert begins <= len("> **")
    assert known["cure"].replace("`", "")[:60] in plain
    assert "nothing to report to PyTorch" in plain
    assert "Suggested title" not in body
    assert known["cure"][:30] in " ".join(done.stdout.replace("│", " ").split())


def test_a_custom_operator_without_a_fake_kernel_is_explained_once(tmp_path: Path) -> None:
    command = Command(tmp_path)
    command("run", "--no-reduce", "--out", "out", command.script(programs.NO_FAKE))
    report = command.report()
    told = [finding for finding in report["findings"] if finding["explains"]]
    assert len(told) + (report["known_cause"] is not None) == 1, (told, report["known_cause"])
