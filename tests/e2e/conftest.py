"""Runs of `triage run` end at the verified reproducer, unless the tests of a module ask for what comes after it."""

import os
from collections.abc import Iterator

import pytest

SETTING = "TRIAGE_REPRODUCER_ONLY"


@pytest.fixture(scope="module", autouse=True)
def _only_what_is_tested(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is to blame and the ways round cost a minute of each run: a module that looks at them says WHOLE_RUN."""
    before = os.environ.get(SETTING)
    os.environ[SETTING] = "0" if getattr(request.module, "WHOLE_RUN", False) else "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SETTING]
        else:
            os.environ[SETTING] = before
