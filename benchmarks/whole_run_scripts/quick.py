"""Quick: whitens a signal, and fails within seconds of its start, before anything is built by a C++ compiler."""

import torch


def whiten(signal: torch.Tensor) -> torch.Tensor:
    spectrum = torch.fft.rfft(signal)
    flat = torch.nan_to_num(spectrum / spectrum.abs())  # torch 2.13 does not decompose it for complex numbers
    return torch.fft.irfft(flat, n=signal.shape[-1])


torch.manual_seed(0)
signal = torch.zeros(2, 32)
signal[0] = torch.randn(32)
print("eager   ", whiten(signal).norm(dim=-1))
print("compiled", torch.compile(whiten)(signal).norm(dim=-1))
