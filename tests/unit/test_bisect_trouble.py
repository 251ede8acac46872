"""What uv and pip print when an installation fails, and what that means for the versions that follow."""

from __future__ import annotations

import pytest

from triage.environments.trouble import Trouble, read_trouble

TEXTS = {
    "uv: no such version": (
        Trouble.NO_WHEEL,
        "error: No solution found when resolving dependencies\n  cause: Because there is no version of torch==2.99.0 and you "
        "require torch==2.99.0, we can conclude that your requirements are unsatisfiable.",
    ),
    "uv: no wheel for this Python": (
        Trouble.NO_WHEEL,
        "  × No solution found when resolving dependencies:\n  ╰─▶ Because torch==2.1.2 has no wheels with a matching\n"
        "      Python ABI tag (e.g., `cp313`) and you require torch==2.1.2, we can conclude that\n      your requirements "
        "are unsatisfiable.",
    ),
    "pip: no such version": (
        Trouble.NO_WHEEL,
        "ERROR: Could not find a version that satisfies the requirement torch==2.99 (from versions: 2.0.0, 2.0.1)\n"
        "ERROR: No matching distribution found for torch==2.99",
    ),
    "uv: a nightly that is gone": (
        Trouble.NO_WHEEL,
        "error: Failed to download `torch @ https://x/torch.whl`\n  cause: HTTP status client error (404 Not Found) for url",
    ),
    "uv: no network": (
        Trouble.NETWORK,
        "error: Request failed after 3 retries\n  cause: Failed to fetch: https://pypi.org/simple/torch/\n"
        "  cause: client error (Connect)\n  cause: dns error\n  cause: Name or service not known",
    ),
    "pip: no network": (
        Trouble.NETWORK,
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed to establish a new\n"
        "connection: [Errno -2] Name or service not known')': /simple/torch/\nERROR: Could not find a version that satisfies "
        "the requirement torch==2.8.0 (from versions: none)\nERROR: No matching distribution found for torch==2.8.0",
    ),
    "uv: a login is wanted": (
        Trouble.NETWORK,
        "error: Failed to fetch\n cause: HTTP status client error (401 Unauthorized) for url",
    ),
    "uv: disk": (Trouble.DISK, "error: Failed to install: torch\n  cause: No space left on device (os error 28)"),
    "pip: disk": (Trouble.DISK, "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"),
    "quota": (Trouble.DISK, "cause: Disk quota exceeded (os error 122)"),
    "uv: a conflict": (
        Trouble.CONFLICT,
        "  × No solution found when resolving dependencies:\n  ╰─▶ Because einops==9 depends on numpy>=2 and you require "
        "numpy<2, your requirements are unsatisfiable.",
    ),
    "something else": (Trouble.OTHER, "some lines\nerror: Failed to build `flash-attn`\nmore"),
    "nothing": (Trouble.OTHER, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_complaint_is_understood(name):
    wanted, text = TEXTS[name]
    trouble, telling = read_trouble(text)
    assert trouble is wanted
    assert len(telling) <= 300


def test_the_telling_line_is_quoted():
    assert read_trouble(TEXTS["something else"][1])[1] == "Failed to build `flash-attn`"
    assert "no version of torch==2.99.0" in read_trouble(TEXTS["uv: no such version"][1])[1]
    assert read_trouble(TEXTS["uv: a conflict"][1])[1].startswith("Because einops==9 depends on numpy>=2")
    assert "matching Python ABI tag" in read_trouble(TEXTS["uv: no wheel for this Python"][1])[1]
