"""A failing test that compiled something is triaged after the last test, and what was found stands in its own output.

After the last test, not after each: there is no time limit of a test around it then, no other test beside it, and with xdist it
is one process that does it, the one that tells. What was compiled is read from Dynamo's own counts, where it was imported.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

COMPILED = "triage_compiled"  # attribute of a report; xdist hands it on
SECTION = "triage"


def compiles() -> tuple[Any, ...]:
    """What changes whenever Dynamo compiles a frame; always the same while torch was not imported.

    `counters` and `FRAME_COUNTER` are private to torch, there since 2.1; where they are missing nothing is triaged.
    """
    frames = getattr(sys.modules.get("torch._dynamo.convert_frame"), "FRAME_COUNTER", 0)
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})  # torch._dynamo.reset() leaves them
    return frames, {name: dict(counts) for name, counts in counters.items()}


class Marking:
    """In each process that runs tests: which reports are of a test that compiled something and failed."""

    def __init__(self) -> None:
        self._before: tuple[Any, ...] = ()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._before = compiles()
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        outcome: Any = yield
        report = outcome.get_result()
        if report.failed and report.when == "call" and compiles() != self._before:
            setattr(report, COMPILED, True)


class Triaging:
    """In the one process that tells: the reports, and the triage of them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failed: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if getattr(report, COMPILED, False):
            self._failed.append(report)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return  # interrupted, or pytest itself has failed
        most = self._config.getoption("--triage-max")
        for number, report in enumerate(self._failed):
            text = self._told(report) if number < most else f"Not run: --triage-max is {most}."
            report.sections.append((SECTION, text))

    def _told(self, report: pytest.TestReport) -> str:
        self._say(f"triage of {report.nodeid} (at most {self._config.getoption('--triage-budget'):.0f} s)")
        try:
            return triaged(self._command(report.nodeid), report.nodeid, self._config.getoption("--triage-budget"))
        except Exception as error:  # noqa: BLE001  what goes wrong here must not cost the results of the tests
            return f"Not run: {error}"

    def _command(self, nodeid: str) -> list[str]:
        """Run the test alone, in one process, with the settings of the project."""
        file, *names = nodeid.split("::")
        place = os.path.relpath(self._config.rootpath / file)
        alone = {"xdist": "-n0", "_cov": "--no-cov"}
        options = [option for plugin, option in alone.items() if self._config.pluginmanager.hasplugin(plugin)]
        return [sys.executable, "-m", "pytest", *options, "::".join([place, *names])]

    def _say(self, line: str) -> None:
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)


def triaged(command: list[str], nodeid: str, budget: float) -> str:
    """What triage says of the test, as text: stage, summary, reproducer, where the report lies."""
    from triage.api import run

    name = "".join(letter if letter.isalnum() else "-" for letter in nodeid.rsplit("/", 1)[-1])[:80]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the project may have pytest make errors of them
        report = run(command=command, budget=budget, out=Path("triage-out") / f"pytest-{name}")
    if report.exit_code == 1:
        return f"It passes when it runs alone, or there is nothing to report. {report.path}"
    reproducer = report.reproducer_text or f"No reproducer: {report.reproducer_note or 'none was made'}"
    head = f"stage {report.verdict.stage.value}: {report.title}\n{report.verdict.summary}"
    return f"{head}\nreport: {os.path.relpath(report.path)}\n\n{reproducer}"
