import torch


def in_time(signal: torch.Tensor, gain: float) -> torch.Tensor:
    return gain * torch.nan_to_num(signal)


def in_frequency(signal: torch.Tensor, gain: float) -> torch.Tensor:
    spectrum = torch.view_as_complex(torch.stack([signal, torch.zeros_like(signal)], dim=-1))
    return gain * torch.fft.fft(spectrum.nan_to_num(nan=0.0)).real


FILTERS = {"time": in_time, "frequency": in_frequency}
