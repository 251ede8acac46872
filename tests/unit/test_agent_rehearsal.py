"""Whether a forked child can do what candidates do is tried in one; here without a GPU, torch replaced."""

from __future__ import annotations

import importlib
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from triage.agent import boot

boot.load_agent()
rehearsal = importlib.import_module(f"{boot.PACKAGE}.warm.rehearsal")


class Value:
    def sum(self) -> Value:
        return self

    def backward(self) -> None:
        return None


def torch_with(ones: Any, *, available: bool = True) -> SimpleNamespace:
    cuda = SimpleNamespace(is_available=lambda: available)
    return SimpleNamespace(cuda=cuda, ones=ones)


def raises(*_: object, device: str = "cuda", **__: object) -> Value:
    if device == "cpu":
        return Value()
    raise RuntimeError("Cannot re-initialize CUDA in forked subprocess\nmore")


def dies(*_: object, **__: object) -> Value:
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGUSR1)
    return Value()


@pytest.mark.parametrize(
    ("torch", "why"),
    [
        (torch_with(lambda *_, **__: Value()), ""),
        (torch_with(raises, available=False), ""),
        (torch_with(raises), "RuntimeError: Cannot re-initialize CUDA in forked subprocess"),
        (torch_with(dies), f"it died of signal {int(signal.SIGUSR1)}"),
    ],
)
def test_what_goes_wrong_in_a_fork_is_told(torch: Any, why: str) -> None:
    assert rehearsal.what_fails_in_a_child(torch) == why


def test_what_this_process_means_to_do_is_tried_in_a_child_whose_child_uses_the_gpu() -> None:
    done: list[int] = []

    def harmful() -> None:
        done.append(os.getpid())

    def ones(*_: object, **__: object) -> Value:
        return raises() if done else Value()

    assert rehearsal.what_fails_in_a_child(torch_with(ones), after=lambda: None) == ""
    assert "Cannot re-initialize" in rehearsal.what_fails_in_a_child(torch_with(ones), after=harmful)
    assert not done


def test_the_state_of_random_numbers_on_the_gpu_is_left_alone_for_as_long_as_it_is_asked() -> None:
    torch = SimpleNamespace(
        cuda=SimpleNamespace(get_rng_state=raises, set_rng_state=raises), get_rng_state=lambda: "cpu"
    )
    with rehearsal.left_alone(torch):
        assert torch.cuda.get_rng_state("cuda") == "cpu"
        torch.cuda.set_rng_state("cpu")
    assert torch.cuda.get_rng_state is raises and torch.cuda.set_rng_state is raises


def test_what_each_fork_would_hash_anew_is_hashed_before_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages of another torch, and a Triton that is not there, are no hindrance."""
    warmup = importlib.import_module(f"{boot.PACKAGE}.warm.warmup")
    made: list[str] = []
    fake = SimpleNamespace(torch_key=lambda: made.append("torch"), __path__=[])
    monkeypatch.setattr(warmup, "importlib", SimpleNamespace(import_module=lambda _: fake))
    warmup._know_patterns_and_hashes()
    assert made == ["torch"]
