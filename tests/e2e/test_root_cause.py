"""A program that dies in its own code because of what the compiler gave it: the title tells the compiler's part."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Command

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
WHOLE_RUN = True  # the title names the part that is to blame
DIES_IN_ITS_VIEW = """
import torch

def outer_update(m, u, v):
    return torch.addr(m, u, v, beta=0.0)

torch.manual_seed(0)
m = torch.rand(6, 5).mT
u, v = torch.rand(5), torch.rand(6)
out = torch.compile(outer_update)(m, u, v)
print(out.T.view(-1).sum(), "SECRET")
"""


def test_the_title_tells_what_the_decomposition_returns(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    command = Command(tmp_path)
    done = command("run", "--out", "out", command.script(DIES_IN_ITS_VIEW.replace("SECRET", secret)))
    report = command.report()
    assert report["signature"]["exception_type"] == "RuntimeError", done.stderr
    page = (command.out / "report.md").read_text()
    assert page.startswith("<!-- Suggested title: `aten.addr`: decomposition returns strides (6, 1), eager (1, 5) -->")
    for name in ("report.md", "report.json", "error.log", "trace.log"):
        assert secret not in (command.out / name).read_text(), name
    assert report["redacted"]["github_token"] >= 1
