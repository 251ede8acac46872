"""A kernel that fails is told of by a later call: where that happened, the script is run with each launch waiting for its kernel.

From then on all its runs are such runs. What they show of where it fails (the line, the graph, the pass) is what the first run
could not tell; the failure itself is known by its words alone (`judge/device.py`), and its reproducer is verified without this.
"""

from __future__ import annotations

import os

from triage.judge.device import is_asynchronous
from triage.locate.leftovers import AS_IT_IS
from triage.locate.walk import Walk
from triage.model.rungs import AS_IS

NAME = f"{AS_IS}-blocking"
VARIABLE = "CUDA_LAUNCH_BLOCKING"


def to_blocking_launches(walk: Walk) -> str:
    """Run the script so, and go on with it where it fails alike. A sentence for the report; empty where nothing is to be told."""
    first = walk.start.signature
    if first is None or not is_asynchronous(first.message) or os.environ.get(VARIABLE, "0") != "0":
        return ""
    if first.message.startswith("HIP"):
        return ""  # it does not heed the variable
    before = walk.env, walk.stop_after
    walk.stop()
    walk.env, walk.stop_after = {**walk.env, VARIABLE: "1"}, None
    waiting = walk.ask(AS_IT_IS, NAME)
    if waiting.signature is not None and waiting.signature.skeleton == first.skeleton:
        walk.seen.clear()
        walk.begins_with(waiting)
        return (
            "An error in a GPU's kernel is raised by whatever call waits for the device next. Where it comes from is told by "
            f"runs of the script with {VARIABLE}=1, in which it fails in the same way."
        )
    walk.env, walk.stop_after = before
    return (
        f"With {VARIABLE}=1 the script does not fail so. The line that is named is the one that waited for the device, which "
        "need not be the one that launched the failing kernel."
    )
