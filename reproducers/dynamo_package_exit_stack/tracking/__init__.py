from .stats import RunningStats

__all__ = ["RunningStats"]
