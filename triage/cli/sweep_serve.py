"""The page of a sweep while it fills: a server for this machine alone, which only reads."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGE = "sweep.html"
HERE = "127.0.0.1"


class _Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        """Only who asked for this machine: a page of another name that leads here gets nothing (DNS rebinding)."""
        if (self.headers.get("Host") or "").rsplit(":", 1)[0] not in (HERE, "localhost"):
            self.send_error(403)
            return
        super().do_GET()

    def list_directory(self, path: object) -> None:
        """Nobody is shown what lies there; pages name what they need."""
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        """The terminal belongs to the sweep."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the files of the folder while inside; the address of the page."""
    server = ThreadingHTTPServer((HERE, 0), functools.partial(_Handler, directory=str(folder)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HERE}:{server.server_port}/{PAGE}"
    finally:
        server.shutdown()
        server.server_close()
