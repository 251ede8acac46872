"""Triage of failures under torch.compile."""

__version__ = "0.1.0"
