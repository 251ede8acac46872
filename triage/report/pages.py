"""A page: one file that loads nothing from elsewhere, and in which nothing of the target's can do anything.

Every text is escaped by the template engine, without terminal colours and control characters; the page's own style and script are
the only ones that its content security policy lets run (by their hashes). Styles are classes: the policy forbids attributes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from triage.report.markdown import clean
from triage.report.templates import furnished, templates_dir

_BAR = 400.0  # as wide as the longest bar is


def page(template: str, title: str, **values: Any) -> str:
    """The page that this template makes of the values."""
    css, js = (_asset(name) for name in ("report.css", "report.js"))
    text = _environment().get_template(template).render(
        title=title,
        css=Markup(css),
        js=Markup(js),
        css_hash=_hash(css),
        js_hash=_hash(js),
        **values,
    )  # fmt: skip
    return text.encode("utf-8", "replace").decode()


def closing_chips(
    complete: bool, reason: str | None, environment: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """What stands last in the line of words on top of every page: on what it ran, and that it is not all."""
    chips = [
        ("", f"{name} {environment[name]}") for name in ("torch", "python") if environment and environment.get(name)
    ]
    return chips if complete else [*chips, ("other", f"incomplete: {reason or 'not known why'}")]


def bars(rows: Sequence[tuple[str, float, str]]) -> dict[str, Any]:
    """(name, length, what stands beside it) of each as the template draws them, and all of it in words."""
    longest = max((length for _, length, _ in rows), default=0.0)
    drawn = [
        {"name": name, "y": 22 * number, "width": round(_BAR * length / longest, 1) if longest else 0.0, "told": told}
        for number, (name, length, told) in enumerate(rows)
    ]
    return {"rows": drawn, "told": ", ".join(f"{name} {told}" for name, _, told in rows)}


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_dir()),
        autoescape=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    return furnished(environment, {"ticks": _ticks, "file": _file})


def _asset(name: str) -> str:
    return (templates_dir() / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a content security policy names what it lets run."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _ticks(text: str) -> Markup:
    """Plain text whose `code spans` are code; everything is escaped."""
    parts = clean(str(text)).split("`")
    if len(parts) % 2 == 0:  # one is left over
        return escape(clean(str(text)))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def _file(name: str) -> str:
    """The address of a file beside the page: nothing else than a path below it."""
    return "./" + quote(clean(name).lstrip("/"))
