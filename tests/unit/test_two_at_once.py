"""Two that go on in one run directory would write over each other's answers: the second one is refused while the first lives."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.environments.files import JOURNAL
from triage.errors import UsageError
from triage.session.events import Emitter, Journal
from triage.session.session import reopen_session
from triage.session.settings import Settings


def test_a_run_that_goes_on_is_not_gone_on_with(tmp_path: Path) -> None:
    first = Emitter(Journal(tmp_path / JOURNAL))
    first("run_started", directory=str(tmp_path))
    with pytest.raises(UsageError, match="Another triage is at work there"):
        reopen_session(Settings(), tmp_path, Emitter(), {}, {})
    first("run_ended", exit_code=130)
    assert reopen_session(Settings(), tmp_path, Emitter(), {}, {}).directory == tmp_path
