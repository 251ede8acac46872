"""`pytest --triage`: options, and nothing else unless it is given. pytest loads this file in every run, so it imports nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

BUDGET, MOST = 300.0, 3  # seconds for one test; tests of one session


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("triage", "triage of failures under torch.compile")
    group.addoption(
        "--triage",
        action="store_true",
        default=False,
        help="run triage on failing tests that compiled something, after the last test",
    )
    group.addoption(
        "--triage-budget",
        type=float,
        default=BUDGET,
        metavar="SECONDS",
        help=f"limit of the triage of one test (default: {BUDGET:.0f})",
    )
    group.addoption(
        "--triage-max",
        type=int,
        default=MOST,
        metavar="N",
        help=f"tests that are triaged in one session (default: {MOST})",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Under triage itself (the test is being triaged, and --triage stands in the settings of pytest) it is not asked again.
    if config.getoption("--triage") and "TRIAGE_AGENT" not in os.environ:
        from triage.testing.after import Marking, Triaging

        config.pluginmanager.register(Marking(), "triage-marking")
        if not hasattr(config, "workerinput"):  # of the processes of xdist the one that tells
            config.pluginmanager.register(Triaging(config), "triage-triaging")
