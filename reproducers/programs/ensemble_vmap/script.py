"""An ensemble of models, evaluated at once over stacked parameters."""

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap


class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(9))

    def forward(self, wave):
        spectrum = torch.fft.rfft(wave) * self.gain
        return torch.nan_to_num(spectrum / spectrum.abs()).sum().real


torch.manual_seed(0)
filters = [Filter() for _ in range(3)]
parameters, buffers = stack_module_state(filters)
base = filters[0]


def evaluate(parameters, buffers, wave):
    return functional_call(base, (parameters, buffers), (wave,))


wave = torch.randn(16)
with torch.no_grad():
    print(torch.compile(vmap(evaluate, in_dims=(0, 0, None)))(parameters, buffers, wave))
