"""The commands as functions: `triage.run("train.py")`, `triage.bisect(...)`, `triage.load(...)`, and the notebook's `%%triage`.

They do what the commands do, in this process: probes are processes of their own, and nothing is printed. Errors are
`triage.errors.TriageError` with `what`, `why` and `next`. What stands on this process's standard input is left alone.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import triage.bisect as _package
from triage.api.answers import BisectReport, TriageReport
from triage.api.commands import bisect, load, run
from triage.api.notebook import load_ipython_extension

__all__ = ["BisectReport", "TriageReport", "bisect", "load", "load_ipython_extension", "run"]


class _CallablePackage(types.ModuleType):
    """`triage.bisect` is a package of ours, too. Whichever of the two Python finds under that name, it can be called."""

    def __call__(self, *words: Any, **given: Any) -> BisectReport:
        return bisect(*words, **given)


sys.modules[_package.__name__].__class__ = _CallablePackage
