"""The line of a graph node is the user's, or none; its module is named as the program names it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from triage.agent.capture.where import module, where

USER = '  File "/home/me/train.py", line 31, in forward\n    y = self.lin(x)\n'
LIBRARY = '  File "/v/torch/lib/python3.11/site-packages/thunder/torch/ops.py", line 7, in f\n    return x + 1\n'
HOOK = '  File "/home/me/train.py", line 11, in __torch_function__\n    return super().__torch_function__(func)\n'
TORCH = '  File "/v/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", line 17, in inner\n    return fn(*args)\n'


@pytest.mark.parametrize(
    ("stack", "line"),
    [
        (USER + TORCH, "train.py:31 in forward: y = self.lin(x)"),
        (TORCH + USER, "train.py:31 in forward: y = self.lin(x)"),
        (USER.replace("forward", "torch_dynamo_resume_in_forward_at_30"), "train.py:31 in forward: y = self.lin(x)"),
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


class ReLU:
    pass


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("L['self'].layers.1.ff.0", "layers.1.ff.0 (ReLU)"),  # torch 2.13
        ("L['self']._modules['layers']._modules['1'].ff", "layers.1.ff (ReLU)"),  # 2.6
        ("L['self'].net._modules['a b']", "net.a b (ReLU)"),
        ("getattr(getattr(L['self'].layers[1], 'ff'), '0')", "layers.1.ff.0 (ReLU)"),  # 2.2 and 2.4
        ("G['net'].head", "net.head (ReLU)"),
        ("L['critic'].body", "critic.body (ReLU)"),
        ("L['step'].__closure__[0].cell_contents.ff", "ff (ReLU)"),
        ("L['args'][0].layers[0]._modules['ff']", "layers.0.ff (ReLU)"),
        ("L['fn'].0", "0 (ReLU)"),  # a module of torch's is compiled
        ("L['step'].__closure__[0].cell_contents", ""),
        ("ff", ""),
        ("L['self']", ""),  # the one that is compiled
        ("___dict_values(L['nets'])[0]", ""),
    ],
)
def test_the_module_that_does_an_operation_is_named_as_the_program_names_it(source: str, told: str) -> None:
    stack = {"1": ("L['self']", SimpleNamespace), "2": (source, ReLU)}
    assert module(SimpleNamespace(meta={"nn_module_stack": stack})) == told
    assert module(SimpleNamespace(meta={"fwd_nn_module_stack": stack})) == told  # of a backward pass
    named = {"2": (source, "torch.nn.modules.activation.ReLU")}
    assert module(SimpleNamespace(meta={"nn_module_stack": named})) == told


@pytest.mark.parametrize("stack", [None, {}, {"1": None}, {"1": (3, ReLU)}, [1]])
def test_what_is_no_stack_of_modules_tells_none(stack: object) -> None:
    assert module(SimpleNamespace(meta={"nn_module_stack": stack})) == ""
