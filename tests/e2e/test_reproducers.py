"""`triage run` on the bundled failing scripts: real torch, real g++, real processes, from the command line to report.json.

A sample of every kind runs each time; the others are marked slow (`make slow`).
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPRODUCERS = Path(__file__).parents[2] / "reproducers"
DEMO = "decomp_nan_to_num_spectrum"
SAMPLE = {
    "decomp_nan_to_num_spectrum",
    "aot_custom_op_alias",
    "args_frequency_module",
    "script_index_out_of_range",
    "suppress_scalar_cumsum",
}
CASES = sorted(path.parent.name for path in REPRODUCERS.glob("*/case.json"))

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def triage(*words: str, cwd: Path, whole: bool = False) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "VIRTUAL_ENV": str(Path(sys.prefix))} | ({"TRIAGE_REPRODUCER_ONLY": "0"} if whole else {})
    return subprocess.run(
        [sys.executable, "-m", "triage", *words],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=850,
        check=False,
    )


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    if name == DEMO:
        return [pytest.mark.quick]
    return [] if name in SAMPLE else [pytest.mark.slow]


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in CASES])
def test_a_bundled_script_ends_where_its_case_says(name: str, tmp_path: Path) -> None:
    case = json.loads((REPRODUCERS / name / "case.json").read_text())
    place = tmp_path / "a directory with spaces"
    shutil.copytree(REPRODUCERS / name, place)
    before = sorted(path.relative_to(place) for path in place.rglob("*"))
    words = ["--", *case["command"]] if case.get("command") else ["script.py", *case["args"]]

    done = triage("run", "--json", "--out", str(tmp_path / "out"), *words, cwd=place, whole=name == DEMO)

    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    verdict = report["verdict"]
    assert verdict["stage"] in case["stage"].split("|")
    assert verdict["symptom"] in case["symptom"].split("|")
    assert done.returncode == {"script": 3, "none": 1}.get(verdict["stage"], 0)
    assert sorted(path.relative_to(place) for path in place.rglob("*") if "__pycache__" not in path.parts) == before
    if verdict["stage"] not in ("script", "none"):
        assert verdict["direction"] == case["direction"]
        assert [row["outcome"] for row in report["ladder"] if row["rung"] == "uncompiled"] == ["ok"]
    if "raised_in" in case:
        assert report["raised_in"] == case["raised_in"]
        assert any(finding["explains"] for finding in report["findings"])
    if case["max_ops"] is not None:
        check_reproducer(report["reproducer"], case, tmp_path / "out")


def check_reproducer(made: dict, case: dict, out: Path) -> None:
    """Verified, small, standalone, and of the contract's shape."""
    assert made is not None
    assert made["verified"] and made["verified_runs"] >= 3 and made["same_signature"]
    assert made["ops"] is None or made["ops"] <= case["max_ops"]
    assert made["lines"] <= (case["max_lines"] or 20)
    source = (out / made["path"]).read_text()
    imported = {
        alias.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for alias in node.names
    }
    assert {name.split(".")[0] for name in imported} <= {"os", "torch"} or case["stage"] == "backend"
    assert "TORCH_COMPILE_BACKEND" in source
    assert "triage" not in source and "torch._dynamo.repro" not in source
