"""Benches: how a release, a nightly, or a commit of the user's repository is made runnable."""

from __future__ import annotations

import platform
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from packaging.utils import parse_wheel_filename
from packaging.version import Version

from triage.bisect.nightly import addresses, find_wheel, night_of
from triage.bisect.points import Point, Ready
from triage.environments.index import IndexUnreachableError, exists
from triage.environments.recipes import Python
from triage.environments.releases import Release
from triage.environments.venvs import Environment, UntestableError, Workshop
from triage.errors import TargetError
from triage.probe.target import Target

MakeTarget = Callable[[str], Target]  # from the interpreter to the command
# What would leak from the person's own environment into the one that is tested.
CLEAN = {"PYTHONNOUSERSITE": "1", "VIRTUAL_ENV": "", "CONDA_PREFIX": ""}


@dataclass
class VersionBench:
    """Points are versions of torch; each runs in an environment of its own. `find` completes a nightly's release."""

    workshop: Workshop
    target: MakeTarget
    find: Callable[[Release], Release] = lambda release: release
    _held: dict[str, Environment] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def installs(self) -> int:
        return self.workshop.made

    def ready(self, point: Point) -> Ready:
        assert point.release is not None
        environment = self.workshop.ready(self.find(point.release))
        with self._lock:
            self._held[point.name] = environment
        return Ready(
            point=point,
            target=self.target(environment.python),
            toolchain=environment.stored.toolchain,
            git_version=environment.git_version,
            packages=environment.packages,
            extra_env=dict(CLEAN),
        )

    def quick(self, point: Point) -> bool:
        assert point.release is not None
        return self.workshop.has(point.release)

    def done(self, ready: Ready) -> None:
        with self._lock:
            environment = self._held.pop(ready.point.name, None)
        if environment is not None:
            self.workshop.done(environment)

    def stop(self) -> None:
        self.workshop.stop()


@dataclass(frozen=True)
class NightlyFinder:
    """Looks for the wheel of a night that the index does not list."""

    stable: Sequence[Release]
    flavour: str
    python: Python
    cert: str | None = None

    def __call__(self, release: Release) -> Release:
        """The release with its requirement. Raises UntestableError where there is no wheel, TargetError without network."""
        night = night_of(release.version)
        if release.requirement is not None or night is None:
            return release
        urls = addresses(night, self.stable, self.flavour, self.python, platform.machine(), sys.platform)
        try:
            found = find_wheel(urls, lambda url: exists(url, self.cert))
        except IndexUnreachableError as error:
            raise TargetError(
                what="PyTorch's nightly builds cannot be reached.",
                why=str(error),
                next="Check the network, or bisect releases: leave --nightly out.",
            ) from error
        if found is None:
            raise UntestableError(f"no nightly of {night} for this Python and platform, on the index or beside it")
        url, size = found
        version = parse_wheel_filename(url.rsplit("/", 1)[-1].replace("%2B", "+"))[1]
        return replace(
            release, version=Version(version.public), requirement=f"torch @ {url}", size=size, label=version.local
        )
