"""Triage of failures under torch.compile.

The commands are functions, too (`docs/api.md`): `triage.run`, `triage.bisect`, `triage.load`. They are imported when they are
first used, so that `import triage` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from triage.api import BisectReport as BisectReport
    from triage.api import TriageReport as TriageReport
    from triage.api import bisect as bisect
    from triage.api import load as load
    from triage.api import load_ipython_extension as load_ipython_extension
    from triage.api import run as run

_LAZY = ("BisectReport", "TriageReport", "bisect", "load", "load_ipython_extension", "run")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from triage import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
