"""How much memory a sweep over thousands of scripts takes, and how large its page becomes; nothing is run.

    python benchmarks/sweep_size.py SWEEP [--scripts N]

SWEEP is the directory of a sweep that was run (`benchmarks/sweep.py`). Its reports are given as answers to N scripts in turn: all
that `triage sweep` does is done, but for the processes it would start.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from triage.session.events import Emitter
from triage.session.settings import load_settings
from triage.stories.sweep import sweep
from triage.stories.sweep_setup import set_up_sweep
from triage.sweep.engines.interface import Done, Work


class Told:
    """An engine whose processes are reports that lie there."""

    name = "told"

    def __init__(self, reports: list[Path], slots: int) -> None:
        self.slots = slots
        self._reports = reports
        self._given: deque[Done] = deque()

    def submit(self, work: Work) -> None:
        words = list(work.argv)
        directory = Path(words[words.index("--out" if "--out" in words else "--resume") + 1])
        directory.mkdir(parents=True, exist_ok=True)
        number = int(work.name.rpartition("_")[2].removesuffix(".py"))
        shutil.copyfile(self._reports[number % len(self._reports)], directory / "report.json")
        self._given.append(Done(work.name, 0, 1.0))

    def wait(self, seconds: float | None = None) -> Done | None:
        return self._given.popleft() if self._given else None

    def close(self) -> None:
        self._given.clear()


@contextlib.contextmanager
def working_in(place: str) -> Iterator[None]:
    """Python 3.10 has no contextlib.chdir."""
    before = Path.cwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sweep", type=Path)
    parser.add_argument("--scripts", type=int, default=2000)
    given = parser.parse_args()
    reports = sorted(given.sweep.absolute().glob("runs/*/report.json"))
    if not reports:
        raise SystemExit(f"There is no report in {given.sweep}/runs.")
    with tempfile.TemporaryDirectory() as place, working_in(place):
        Path("programs").mkdir()
        for number in range(given.scripts):
            Path(f"programs/script_{number:04}.py").write_text(f"import torch\n\ntorch.compile(torch.sin)({number})\n")
        ready = set_up_sweep(["programs"], Path("sweep"), None, None, again=False)
        began = time.monotonic()
        done = sweep(ready, load_settings({}), Told(reports, 4), Emitter())
        seconds = time.monotonic() - began
        page = (done.directory / "sweep.html").stat().st_size
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"scripts {done.report.scripts}, of {len(reports)} reports; clusters {len(done.report.clusters)}")
    print(f"most memory {memory:.0f} MB, page {page / 1e6:.1f} MB, {seconds:.0f} s of its own work")


if __name__ == "__main__":
    main()
