"""The first C++ build on a machine takes seconds to a minute: vector instructions are tried, torch's headers precompiled.

What it finds out is kept for later runs (`agent/hooks/shared_cache`). While the script as it is imports and reads its data a core
has nothing to do, so it is made then, and the script's first compile need not wait for it. Where a GPU's failure is reduced, a
candidate on the CPU comes late and would wait for it, so it is made beside the search.
"""

from __future__ import annotations

import threading

from triage.locate.ladder import suspect
from triage.model.stage import Stage
from triage.probe.staging import knows_instructions
from triage.stories.findings import Findings
from triage.trial.runner import ForkServerRunner

BUILD = """\
import os

import torch

os.nice({nice})
torch.compile(torch.relu)(torch.ones(4))
"""
BUILD_SECONDS = 300.0


def begin_build_beside_script(found: Findings) -> None:
    """In the background, once the warm interpreter is there, as long as the script has not come to its first compile by then.

    Not where the machine was asked before, or has one core for all.
    """
    runner, neutral = found.runner, found.session.neutral
    if runner is None or neutral is None or found.walk.jobs() < 2 or knows_instructions(neutral):
        return

    def build() -> None:
        runner.warmed()
        if runner.why_slow is None and not found.walk.compiles():
            _build(runner, nice=0)

    threading.Thread(target=build, daemon=True).start()


def begin_build_for_cpu(found: Findings) -> None:
    """In the background, where the script as it is used a GPU, and fails behind the stage in which CPU and GPU part ways.

    Not where only a GPU fails so. Nobody waits for it but the candidate that needs it.
    """
    runner, first = found.runner, found.walk.start
    signature = first.signature
    if runner is None or signature is None or signature.is_of_gpu_alone or not first.notes.device_share:
        return
    if suspect(signature, first.outcome) is Stage.INDUCTOR:
        threading.Thread(target=_build, args=(runner,), kwargs={"nice": 19}, daemon=True).start()


def _build(runner: ForkServerRunner, *, nice: int) -> None:
    """Until it is built, or the runner's end ends it."""
    runner.beside().run(BUILD.format(nice=nice), timeout=BUILD_SECONDS)
