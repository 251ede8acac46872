"""Programs of known fate for `benchmarks/sweep.py`: each row of a table is one bug (or none), with the faces it shows.

Every failing one was run by hand on torch 2.13.0 for CPU, on every backend, and passes uncompiled unless its stage is `script`.
Faces of one bug have one guilty operation, or one piece of code. An issue is cited where there is one.
"""

from __future__ import annotations

from sweep_programs import aot, dynamo, inductor, own, scripts
from sweep_programs.forms import HEAD, Bug
from sweep_programs.models import passing

BUGS: tuple[Bug, ...] = (*dynamo.BUGS, *aot.BUGS, *inductor.BUGS, *own.BUGS, *scripts.BUGS)

__all__ = ["BUGS", "HEAD", "Bug", "passing"]
