"""How much of a GPU's memory a program has, which decides how many of its runs go side by side."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from walk_machine import Machine, error, walk_of

from triage.agent import boot
from triage.locate import runs
from triage.locate.walk import Walk
from triage.probe.notes import agent_notes

boot.load_agent()
gpu = importlib.import_module(f"{boot.PACKAGE}.compat.gpu")
copies = importlib.import_module(f"{boot.PACKAGE}.compare.copies")
GIB = 1 << 30


def gpus(*peaks: int, initialized: bool = True) -> SimpleNamespace:
    return SimpleNamespace(
        is_initialized=lambda: initialized,
        device_count=lambda: len(peaks),
        max_memory_reserved=lambda number: peaks[number] * GIB,
        max_memory_allocated=lambda: peaks[0] * GIB,
        get_device_properties=lambda number: SimpleNamespace(total_memory=24 * GIB),
    )


@pytest.mark.parametrize(
    ("cuda", "share", "peak"),
    [
        (gpus(11), 0.5, 11 * GIB),
        (gpus(0, 23), 1.0, 0),
        (gpus(0), 0.0, 0),
        (gpus(11, initialized=False), None, None),
        (SimpleNamespace(), None, None),
    ],
)
def test_the_share_of_the_fullest_gpu(
    monkeypatch: pytest.MonkeyPatch, cuda: SimpleNamespace, share: float | None, peak: int | None
) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert gpu.share() == share and gpu.peak_bytes() == peak


@pytest.mark.parametrize(
    ("shares", "jobs"), [([0.05], 4), ([0.3], 3), ([0.44], 2), ([0.46], 1), ([0.3, 0.3], 1), ([], 4)]
)
def test_as_many_runs_go_side_by_side_as_a_gpu_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: list[float], jobs: int
) -> None:
    monkeypatch.setattr(runs, "usable_cores", lambda: 8)
    monkeypatch.setattr(runs, "runs_that_fit", lambda: 9)
    make: Callable[..., Walk] = walk_of(tmp_path)
    walk = make(Machine({"inductor": [error()]}), jobs=0)
    probe = walk.first()
    told = agent_notes([{"e": "device", "pid": 7 + number, "share": share} for number, share in enumerate(shares)])
    walk.seen = {"inductor": [replace(probe, notes=replace(probe.notes, device_share=told.device_share))]}
    assert walk.jobs() == jobs


def out_of_use() -> None:
    raise RuntimeError("CUDA error: device-side assert triggered")


def in_use(synchronize: Callable[[], None], recording: bool = False) -> SimpleNamespace:
    return SimpleNamespace(
        is_initialized=lambda: True, is_current_stream_capturing=lambda: recording, synchronize=synchronize
    )


@pytest.mark.parametrize(
    ("cuda", "lost"),
    [
        (in_use(out_of_use), True),
        (in_use(lambda: None), False),
        (in_use(out_of_use, recording=True), False),  # whoever waits then spoils what is recorded
        (SimpleNamespace(is_initialized=lambda: False, synchronize=out_of_use), False),
        (SimpleNamespace(), False),
    ],
)
def test_a_gpu_that_a_kernel_has_put_out_of_use(
    monkeypatch: pytest.MonkeyPatch, cuda: SimpleNamespace, lost: bool
) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert gpu.is_lost() is lost


@pytest.mark.parametrize(("free", "limit"), [(2, 256 << 20), (80, GIB)])
def test_copies_leave_a_gpu_the_memory_that_the_program_needs(
    monkeypatch: pytest.MonkeyPatch, free: int, limit: int
) -> None:
    cuda = SimpleNamespace(is_initialized=lambda: True, mem_get_info=lambda device: (free * GIB, 80 * GIB))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert copies._limit(SimpleNamespace(type="cuda")) == limit
    assert 0 < copies._limit(SimpleNamespace(type="cpu")) <= GIB
