"""Forward-mode sensitivities of a small matrix function in bfloat16."""

import torch


def shifted(gains: torch.Tensor) -> torch.Tensor:
    return gains.sum() + gains


def response(gains: torch.Tensor) -> torch.Tensor:
    return ((gains.prod() + gains) @ shifted(gains) @ shifted(gains)).sum()


gains = torch.linspace(0.1, 0.9, 9, dtype=torch.bfloat16).reshape(3, 3)
sensitivity = torch.func.jacfwd(response)
print("eager   ", sensitivity(gains).norm())
print("compiled", torch.compile(sensitivity)(gains).norm())
