"""What stands in a page, as a browser reads it, and texts that try to become more than text."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from typing import Any

EVIL = "</code></pre><script>alert(1)</script><img src=x onerror=alert(1)>\"' --> \x1b[31mred\x1b[0m \ud800 &amp; javascript:a()"


class Elements(HTMLParser):
    """What elements there are, with which attributes, and the text of styles and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: Counter[tuple[str, ...]] = Counter()
        self.addresses: list[str] = []
        self.policy, self.raw, self._inside = "", {"style": "", "script": ""}, ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[(tag, *sorted(name for name, _ in attrs))] += 1
        values = dict(attrs)
        self.addresses += [values[name] or "" for name in ("href", "src", "action") if name in values]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.raw:
            self.raw[self._inside] += data


def poisoned(value: Any, key: str = "") -> Any:
    """The tree with something evil in each text that is not one of a fixed set of words."""
    if isinstance(value, dict):
        return {name: poisoned(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, key) for item in value]
    fixed = key in ("symptom", "stage", "outcome", "kind", "on", "direction", "case", "engine", "face", "mode")
    return value + EVIL if isinstance(value, str) and not fixed else value
