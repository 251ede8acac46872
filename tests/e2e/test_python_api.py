"""`triage.run` on a real failure, from a process that never imports torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

SCRIPT = """
import torch

f = torch.compile(lambda x: torch.nan_to_num(x))
f(torch.ones((), dtype=torch.complex64))
"""
CALL = """
import json, sys
import triage

report = triage.run("train.py", reduce=False, accuracy="never", out="run")
facts = [report.exit_code, report.verdict.stage.value, report.path.name, "torch" in sys.modules]
print(json.dumps([*facts, report.title in report._repr_html_(), triage.load("run").title == report.title]))
"""


def test_a_function_call_triages(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-c", CALL], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert json.loads(done.stdout) == [0, "decomp_partition", "report.html", False, True, True], done.stderr
