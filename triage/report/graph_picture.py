"""The program's graph round the operation that is to blame, laid out for a picture: what it takes, what takes its result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triage.model.report import TriageReport
from triage.model.text import clip
from triage.report.redact import Redactor

MOST_BYTES = 20_000_000
MOST_NODES = 22
NEAR = 4  # operations between the guilty one and the furthest that is shown
ACROSS, DOWN, WIDTH, HEIGHT = 168, 64, 152, 38
_NOTHING = (
    "torch", "ops", "aten", "nn", "functional", "operator", "default", "Tensor", "Scalar", "_C", "_nn", "builtins",
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """An operation of the graph. `takes` are the names of those whose results it uses."""

    name: str
    target: str
    where: str
    takes: tuple[str, ...]


def graph_of(run_dir: Path, report: TriageReport, redactor: Redactor) -> tuple[Drawn, ...]:
    """The graph in the run directory that is to blame, redacted; nothing where none was captured or known."""
    wanted = report.culprit.graph if report.culprit is not None else None
    if wanted is None:
        return ()
    for path in sorted((run_dir / "graph").glob("*/graph-*-dynamo.json"), key=lambda path: path.parent.name != "as_is"):
        tree = _tree(path)
        if tree.get("graph_id") == wanted:
            return tuple(_drawn(node, redactor) for node in tree.get("nodes") or () if isinstance(node, dict))
    return ()


def _tree(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size <= MOST_BYTES else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _drawn(node: Mapping[str, Any], redactor: Redactor) -> Drawn:
    texts = (redactor.text(str(node.get(name) or "")) for name in ("name", "target", "where"))
    name, target, where = texts
    return Drawn(
        name,
        target,
        where,
        tuple(dict.fromkeys(map(redactor.text, _references([node.get("args"), node.get("kwargs")])))),
    )


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if set(value) == {"ref"} and isinstance(value["ref"], str):
            yield value["ref"]
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def picture(nodes: Sequence[Drawn], report: TriageReport) -> dict[str, Any]:
    """Boxes and lines round the guilty operations; nothing where these are not known."""
    guilty = _guilty(nodes, report)
    if not guilty:
        return {}
    shown = _near({node.name: node for node in nodes}, guilty)
    words = " and ".join(dict.fromkeys(node.target for node in nodes if node.name in guilty))
    told = f"{len(shown)} of the {len(nodes)} operations of graph {report.culprit.graph if report.culprit else ''}, round {words}"
    lines = dict.fromkeys(node.where for node in nodes if node.name in guilty and node.where)
    return {**_laid_out(nodes, guilty, shown), "told": told, "lines_of": tuple(lines)}


def reduced_picture(nodes: Sequence[Drawn], report: TriageReport) -> dict[str, Any]:
    """What is left of it in the reproducer, all of it where that is little; the guilty one is marked where it is known."""
    if not nodes:
        return {}
    named = [node.name for node in _blamed(nodes, report)]
    guilty = dict.fromkeys(named or ([nodes[0].name] if len(nodes) == 1 else []))
    by_name = {node.name: node for node in nodes}
    shown = list(by_name) if len(nodes) <= MOST_NODES else _near(by_name, guilty)
    if not shown:
        return {}
    told = f"{len(nodes)} {'operation' if len(nodes) == 1 else 'operations'} left: {', '.join(node.target for node in nodes[:8])}"
    return {**_laid_out(nodes, guilty, shown), "told": told}


def _laid_out(nodes: Sequence[Drawn], guilty: Mapping[str, None], shown: Sequence[str]) -> dict[str, Any]:
    known = {node.name: node for node in nodes}
    rows = _rows(shown, known)
    widest = max(len(row) for row in rows)
    at = {
        name: (index * ACROSS + (widest - len(row)) * ACROSS / 2 + 4, number * DOWN + 4)
        for number, row in enumerate(rows)
        for index, name in enumerate(row)
    }
    boxes = [
        {
            "x": at[name][0],
            "y": at[name][1],
            "style": "guilty" if name in guilty else "",
            "operation": clip(known[name].target.removeprefix("torch.nn.functional."), 19),
            "place": clip(known[name].where.partition(" in ")[0], 22),
            "told": ", ".join(filter(None, (known[name].target, known[name].where))),
        }
        for name in shown
    ]
    lines = [
        {"x1": at[of][0] + WIDTH / 2, "y1": at[of][1] + HEIGHT, "x2": at[name][0] + WIDTH / 2, "y2": at[name][1]}
        for name in shown
        for of in known[name].takes
        if of in at
    ]
    return {"boxes": boxes, "lines": lines, "width": widest * ACROSS, "height": len(rows) * DOWN}


def _guilty(nodes: Sequence[Drawn], report: TriageReport) -> dict[str, None]:
    """Those of the blamed operation on the blamed line; else all on that line, if there are few."""
    line = report.signature.user_line if report.signature is not None else None
    on_line = [node for node in nodes if line and node.where == line]
    found = _blamed(on_line, report) or (on_line if len(on_line) <= 3 else [])
    found = found or (_blamed(nodes, report) if not on_line else [])
    return dict.fromkeys(node.name for node in (found if len(found) <= MOST_NODES // 4 else found[:1]))


def _blamed(nodes: Sequence[Drawn], report: TriageReport) -> list[Drawn]:
    """Those of the operation to blame."""
    words = _words(report.culprit.op or "") if report.culprit is not None else set()
    return [node for node in nodes if words & _words(node.target)]


def _words(target: str) -> set[str]:
    return {word for word in target.replace("::", ".").split(".") if word not in _NOTHING}


def _near(known: Mapping[str, Drawn], guilty: Mapping[str, None]) -> list[str]:
    """The nearest operations, in the graph's order."""
    users: dict[str, list[str]] = {}
    for node in known.values():
        for name in node.takes:
            users.setdefault(name, []).append(node.name)
    found = dict(guilty)
    level = list(guilty)
    for _ in range(NEAR):
        around = [each for name in level for each in (*known[name].takes, *users.get(name, ())) if each in known]
        level = [name for name in dict.fromkeys(around) if name not in found][: MOST_NODES - len(found)]
        found.update(dict.fromkeys(level))
    return [name for name in known if name in found]


def _rows(shown: Sequence[str], known: Mapping[str, Drawn]) -> list[list[str]]:
    """Each below all that it takes."""
    row: dict[str, int] = {}
    for name in shown:  # what is taken comes first in a graph
        row[name] = 1 + max((row[of] for of in known[name].takes if of in row), default=-1)
    return [[name for name in shown if row[name] == number] for number in range(max(row.values()) + 1)]
