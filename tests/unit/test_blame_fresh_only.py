"""What fails in fresh processes only: settings that are tried elsewhere show nothing of it. No torch."""

import pytest
from stand_ins import failing, inquiry

from triage.reduce.interface import Reduction
from triage.reduce.verifying import Verification, as_it_is
from triage.stories.blame import passes_here


@pytest.mark.parametrize(
    ("engine", "fails", "told"), [("none", False, True), ("none", True, False), ("native", False, False)]
)
def test_a_reproducer_that_passes_where_settings_are_tried_is_asked_nothing(
    engine: str, fails: bool, told: bool
) -> None:
    """With one thread a kernel that is wrong in parallel is right, with caches switched off and on."""
    made = as_it_is(Reduction("x\n", engine, "graph", 1, 0, 0.0, minimal=False, complete=True), Verification(3, 3))
    assert passes_here(made, inquiry(failing(lambda source: fails))) is told
