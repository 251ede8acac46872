"""Chromium without a window, driven through its own protocol: no package is needed, a page is asked what a person would meet."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
_QUIET = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
]  # fmt: skip
_REPORTED = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


class Browser:
    """One Chromium. Messages are JSON with a null character after each, through two pipes."""

    def __init__(self, profile: Path) -> None:
        (theirs_in, self._to), (self._from, theirs_out) = os.pipe(), os.pipe()
        words = [str(CHROMIUM), *_QUIET, f"--user-data-dir={profile}", "about:blank"]
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'  # Chromium reads what is asked from 3 and answers on 4
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *words],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._number, self._buffer = 0, b""
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """The answer; what happened meanwhile is added to `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        os.write(self._to, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") != self._number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            result: dict[str, Any] = answer["result"]
            return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            more = os.read(self._from, 1 << 20)
            if not more:
                raise RuntimeError("Chromium has ended")
            self._buffer += more
        text, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found

    def wait_for(self, method: str, session: str) -> None:
        while not any(each.get("method") == method and each.get("sessionId") == session for each in self.events):
            self.events.append(self._read())

    def close(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self.ask("Browser.close")
        self._process.wait(20)
        os.close(self._to)
        os.close(self._from)

    @contextlib.contextmanager
    def page(self, file: Path, width: int = 1280, height: int = 800, scheme: str = "light") -> Iterator[Page]:
        """The file as a tab of this size shows it, in this colour scheme."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility", "DOM"):
            self.ask(f"{domain}.enable", session)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", session, **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", session, features=features)
        self.events.clear()
        self.ask("Page.navigate", session, url=file.as_uri())
        self.wait_for("Page.loadEventFired", session)
        try:
            yield Page(self, session)
        finally:
            self.ask("Target.closeTarget", targetId=target)


class Page:
    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.ask(method, self._session, **parameters)

    def run(self, script: str) -> Any:
        """The value of the JavaScript expression, as JSON has it."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        code, text = {"Tab": (9, ""), "Enter": (13, "\r"), "Space": (32, " ")}[key]
        facts = {"key": text if key == "Space" else key, "code": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **facts)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **facts)

    def type(self, text: str) -> None:
        self.ask("Input.insertText", text=text)

    def tree(self) -> list[dict[str, Any]]:
        """What a screen reader is given: nodes with role, name and children, in the order in which they are read."""
        nodes = {each["nodeId"]: each for each in self.ask("Accessibility.getFullAXTree")["nodes"]}
        root = next(each for each in nodes.values() if "parentId" not in each)

        def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
            if not node.get("ignored"):
                yield {
                    "role": node["role"]["value"],
                    "name": node.get("name", {}).get("value", ""),
                    **{each["name"]: each["value"].get("value") for each in node.get("properties", ())},
                }
            for child in node.get("childIds", ()):
                if child in nodes:
                    yield from walk(nodes[child])

        return list(walk(root))

    def complaints(self) -> list[dict[str, Any]]:
        """What the console holds."""
        return [each["params"] for each in self._browser.events if each.get("method") in _REPORTED]

    def loaded(self) -> list[str]:
        """Every address that was asked for."""
        asked = (each for each in self._browser.events if each.get("method") == "Network.requestWillBeSent")
        return [each["params"]["request"]["url"] for each in asked]

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        picture = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(picture["data"]))
