"""Environments made in the background, while the version before them is being tested."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType

from triage.bisect.points import Bench, Point, Ready
from triage.environments.cache import NoRoomError


class Ahead:
    """Hands out what the bench makes, made ahead where that was asked for. Leaving it ends what is still being made."""

    def __init__(self, bench: Bench, jobs: int) -> None:
        self._bench = bench
        self._pool = ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="ahead")
        self._coming: dict[str, Future[Ready]] = {}

    def __enter__(self) -> Ahead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for future in self._coming.values():
            future.cancel()
        self._bench.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for future in self._coming.values():
            with contextlib.suppress(BaseException):
                self._bench.done(future.result(timeout=0))

    def want(self, points: Sequence[Point]) -> None:
        """Have these made, the first one first. What was wanted before and is not begun is forgotten."""
        wanted = {point.name for point in points}
        for name, future in list(self._coming.items()):
            if name not in wanted and future.cancel():
                del self._coming[name]
        for point in points:
            if point.name not in self._coming:
                self._coming[point.name] = self._pool.submit(self._bench.ready, point)

    def take(self, point: Point) -> Ready:
        """The point, ready. Raises UntestableError, TargetError."""
        future = self._coming.pop(point.name, None)
        if future is None or future.cancelled():
            return self._bench.ready(point)
        try:
            return _wait(future)
        except NoRoomError:
            # There was none beside the version that was under test; now nothing is under test.
            return self._bench.ready(point)

    def done(self, ready: Ready) -> None:
        self._bench.done(ready)


def _wait(future: Future[Ready]) -> Ready:
    """Wait in small steps: an interrupt gets through between them."""
    while not wait([future], timeout=0.5).done:
        pass
    return future.result()
