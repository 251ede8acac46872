from contextlib import ExitStack

import torch


def quietly(*, grad: bool) -> ExitStack:
    """The modes that bookkeeping code runs under, as one context manager."""
    stack = ExitStack()
    stack.enter_context(torch.set_grad_enabled(grad))
    return stack
