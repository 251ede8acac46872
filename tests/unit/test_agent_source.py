"""The line of a graph node is the user's, or none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from triage.agent.capture.describe import where

USER = '  File "/home/me/train.py", line 31, in forward\n    y = self.lin(x)\n'
LIBRARY = '  File "/v/torch/lib/python3.11/site-packages/thunder/torch/ops.py", line 7, in f\n    return x + 1\n'
HOOK = '  File "/home/me/train.py", line 11, in __torch_function__\n    return super().__torch_function__(func)\n'
TORCH = '  File "/v/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", line 17, in inner\n    return fn(*args)\n'


@pytest.mark.parametrize(
    ("stack", "line"),
    [
        (USER + TORCH, "train.py:31 in forward: y = self.lin(x)"),
        (TORCH + USER, "train.py:31 in forward: y = self.lin(x)"),
        (TORCH, ""),  # a compiled module of torch's own, as torch 2.2 calls it
        (USER + HOOK, "train.py:31 in forward: y = self.lin(x)"),  # where the program does the operation
        (HOOK, "train.py:11 in __torch_function__: return super().__torch_function__(func)"),
        (
            USER + LIBRARY,
            "thunder/torch/ops.py:7 in f: return x + 1",
        ),  # torch is a package, not any folder of that name
        (None, ""),
    ],
)
def test_the_line_of_a_node_is_the_users(stack: str | None, line: str) -> None:
    assert where(SimpleNamespace(meta={"stack_trace": stack})) == line
