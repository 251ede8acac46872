"""The first C++ build on a machine takes up to a minute: vector instructions are tried, torch's headers precompiled.

Where a GPU's failure is reduced, a candidate on the CPU comes late and would wait for that, so it is made beside the search.
"""

from __future__ import annotations

import threading

from triage.locate.ladder import suspect
from triage.model.stage import Stage
from triage.stories.findings import Findings

BUILD = """\
import os

import torch

os.nice(19)
torch.compile(torch.relu)(torch.ones(4))
"""
BUILD_SECONDS = 300.0


def begin_build_for_cpu(found: Findings) -> None:
    """In the background, where the script as it is used a GPU, and fails behind the stage in which CPU and GPU part ways.

    Not where only a GPU fails so. Nobody waits for it but the candidate that needs it, and the runner's end ends it.
    """
    runner, first = found.runner, found.walk.start
    signature = first.signature
    if runner is None or signature is None or signature.is_of_gpu_alone or not first.notes.device_share:
        return
    if suspect(signature, first.outcome) is Stage.INDUCTOR:
        beside = runner.beside()
        threading.Thread(target=beside.run, args=(BUILD,), kwargs={"timeout": BUILD_SECONDS}, daemon=True).start()
