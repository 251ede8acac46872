"""What the profiles of steps say, from what the agent told."""

from __future__ import annotations

from typing import Any

import pytest

from triage.explain.profile import Part, outside, parts_of, profile_of, step_of
from triage.model.explanation import FusedTime, Profile, ProfiledOperation, ProfiledStep
from triage.report import profile as words


def told(step: float, *rows: list[Any], **facts: Any) -> dict[str, Any]:
    return {"e": "profiled", "step": step, "rows": list(rows), "parts": [], **facts}


def op(name: str, seconds: float, *fused: str, inside: bool = False, device: float = 0.0) -> ProfiledOperation:
    return ProfiledOperation(name, 1, seconds, device, inside, fused)


def step(seconds: float, *operations: ProfiledOperation) -> ProfiledStep:
    return ProfiledStep("default", seconds, 6, "profile/x.json", operations)


def test_the_quickest_step_counts_and_its_operations_come_dearest_first() -> None:
    slow = told(9.0, ["aten::mm", True, [], 1, 8.0, 0.0])
    fast = told(1.0, ["aten::mm", True, [], 2, 0.2, 0.0], ["cpp_fused_add_0", True, ["add"], 1, 0.1, 0.5])
    found = step_of([{"e": "block"}, slow, fast], "default", "trace")
    assert found == ProfiledStep(
        "default", 1.0, 2, "trace",
        (op("cpp_fused_add_0", 0.1, "add", inside=True, device=0.5), ProfiledOperation("aten::mm", 2, 0.2, 0.0, True)),
    )  # fmt: skip
    assert step_of([{"e": "block"}], "default", "trace") is None


def test_what_was_fused_stands_beside_the_operations_that_it_holds() -> None:
    before = step(1.0, op("aten::add", 0.2), op("aten::relu", 0.1), op("aten::mm", 0.3), op("aten::sum", 0.1))
    after = step(
        0.6,
        op("cpp_fused_add_relu_0", 0.1, "add", "relu"),
        op("cpp_fused_add_1", 0.05, "add"),
        op("cpp_fused_sum_2", 0.04, "sum"),
        op("aten::mm", 0.3, inside=True),
    )
    assert profile_of(before, after).fused == (
        FusedTime(
            ("cpp_fused_add_relu_0", "cpp_fused_add_1"), ("add", "relu"), 0.15000000000000002, 0.30000000000000004
        ),
        FusedTime(("cpp_fused_sum_2",), ("sum",), 0.04, 0.1),
    )


def test_what_runs_by_itself_as_well_is_not_set_against_a_kernel() -> None:
    before = step(1.0, op("aten::add", 0.2))
    kernel = op("cpp_fused_add_0", 0.9, "add")
    assert profile_of(before, step(1.0, kernel, op("aten::add", 0.1, inside=True))).fused == ()
    (row,) = profile_of(before, step(1.0, kernel, op("aten::add", 0.05))).fused  # outside of graphs: in both programs
    assert row.uncompiled_seconds == pytest.approx(0.15)


def test_what_is_slower_compiled_is_said_and_only_where_it_counts() -> None:
    before = step(1.0, op("aten::mm", 0.3), op("aten::gelu", 0.2), op("aten::cos", 0.001))
    after = step(
        1.5, op("aten::mm", 0.5, inside=True), op("cpp_fused_gelu_0", 0.4, "gelu"), op("aten::cos", 0.002, inside=True)
    )
    slower = profile_of(before, after).slower
    assert len(slower) == 3
    assert "`cpp_fused_gelu_0` takes 400 ms; uncompiled its operations took 200 ms" in slower
    assert "`aten::mm` takes 500 ms in compiled graphs; uncompiled 300 ms" in slower
    assert "99 ms more of a step than uncompiled pass outside of operators and kernels" in slower[2]
    assert profile_of(before, step(0.9, op("aten::mm", 0.3, inside=True))).slower == ()


def test_what_is_not_compiled_is_told_by_its_share() -> None:
    parts = (
        Part("Torch-Compiled Region: 0/0", True, 0.4),
        Part("autograd::engine::evaluate_function: CompiledFunctionBackward", True, 0.1),
        Part("Optimizer.step#AdamW.step", False, 0.2),
        Part("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", False, 0.1),
        Part("aten::cross_entropy_loss", False, 0.04),
        Part("aten::zeros", False, 0.03),
        Part("autograd::engine::evaluate_function: NllLossBackward0", False, 0.01),
    )
    assert outside(parts, 1.0) == (
        "The optimizer's `step` is not compiled: 20 % of a step.",
        "Python between operations, in compiled steps too (the program's own code, guards, the profiler itself): 12 % of a step.",
        "Waiting for the DataLoader: 10 % of a step.",
        "Operations that the program calls outside of compiled functions (a loss, metrics): 7 % of a step.",
    )


def test_a_call_that_was_made_again_says_nothing_of_what_is_outside() -> None:
    alone = told(1.0, parts=[["Optimizer.step#SGD.step", False, 1, 0.5]])
    assert parts_of([alone]) == (Part("Optimizer.step#SGD.step", False, 0.5),)
    assert parts_of([{**alone, "repeated": True}]) == parts_of([]) == ()


def test_the_words_have_their_units() -> None:
    profile = Profile(step(0.002, op("aten::mm", 0.001)), step(0.0005, op("aten::mm", 0.0001)))
    assert "2 ms uncompiled and 0.5 ms compiled" in words.headline(profile)
    assert words.rows(profile.uncompiled) == [("aten::mm", "1", "1 ms", "50 %")]
