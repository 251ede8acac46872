"""A resonator bank: the state is complex, a damping step updates its real view in place."""

import torch


def advance(state: torch.Tensor, parts: torch.Tensor, drive: torch.Tensor) -> torch.Tensor:
    parts.mul_(0.99)  # `parts` is view_as_real(state): one storage, two dtypes
    return (state * drive).abs()


def simulate(step, ticks: int = 3) -> torch.Tensor:
    torch.manual_seed(0)
    state = torch.randn(8, dtype=torch.complex64)
    drive = torch.polar(torch.ones(8), torch.linspace(0, 1, 8))
    for _ in range(ticks):
        energy = step(state, torch.view_as_real(state), drive)
    return energy


expected = simulate(advance)
torch.testing.assert_close(simulate(torch.compile(advance)), expected)
print("energies agree")
