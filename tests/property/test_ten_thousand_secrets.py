"""Ten thousand secrets of a hundred kinds, left where people leave them: none is in any file that a person may publish."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from page_samples import BISECTED, EXPLAINED, SWEPT
from planted_secrets import CONTEXTS, KINDS, Planted, in_json, split_by_colours

from triage.model.bisection import from_json, to_json
from triage.model.codec import decode, encode
from triage.model.explanation import Explanation
from triage.model.report import TriageReport
from triage.model.sweep import SweepReport
from triage.report.bisection import bisection_html
from triage.report.issue import bisection_page
from triage.report.redact import Redactor
from triage.report.store import FILES, write_report
from triage.report.writing import write_explanation, write_sweep

GOLDEN = Path(__file__).parents[1] / "golden" / "inductor_exception"
BATCHES, EACH = 5, 2_000
FRAGMENT = 12  # characters of a secret that are as good as the whole


@dataclass(frozen=True)
class Batch:
    planted: list[Planted]
    texts: list[str]  # each with one secret in it


def batch_of(seed: int) -> Batch:
    rng = random.Random(seed)
    kinds, places = list(KINDS), [*CONTEXTS, "JSON", "split by colours"]
    planted = [KINDS[kinds[number % len(kinds)]](rng) for number in range(EACH)]
    texts = [_left(each, rng.choice(places)) for each in planted]
    return Batch(planted, texts)


def _left(planted: Planted, place: str) -> str:
    if place == "JSON":
        return in_json(planted.text)
    return split_by_colours(planted) if place == "split by colours" else CONTEXTS[place].replace("{}", planted.text)


def published(run_dir: Path, batch: Batch) -> dict[str, str]:
    """Every file that is shown or may be attached, of a run in which the secrets stand everywhere."""
    quarter = EACH // 4
    (run_dir / "logs").mkdir(parents=True)
    (run_dir / "trace").mkdir()
    tree = json.loads((GOLDEN / "report.json").read_text())
    tree["notes"] = batch.texts[:quarter]
    tree["signature"]["message"] = batch.texts[0]
    tree["signature"]["excerpt"] = "\n".join(batch.texts[:40])
    tree["collect_env"] = "\n".join(batch.texts[quarter : 2 * quarter])
    tree["artifacts"]["trace"] = "trace/as_is.log"
    log = "\n".join(["Traceback (most recent call last):", *batch.texts[2 * quarter : 3 * quarter], "Error: x"])
    (run_dir / "logs" / "inductor.log").write_text(log)
    (run_dir / "trace" / "as_is.log").write_text("\n".join(map(_traced, batch.texts[3 * quarter :])))
    (run_dir / "repro.py").write_text("import torch\n" + "\n".join(batch.texts[:60]))
    (run_dir / "passing.py").write_text("import torch\n" + "\n".join(batch.texts[60:120]))
    write_report(run_dir, decode(TriageReport, tree), FILES, Redactor())
    names = [*FILES.values(), "error.log", "trace.log"]
    return {name: (run_dir / name).read_text() for name in names}


def _traced(text: str) -> str:
    """As torch writes its trace: an object on a line, its payload below, each line after a tab."""
    if len(text) % 2:
        return f"V1123 07:43:01.1 12 torch/_x.py:1] {json.dumps({'artifact': text})}"
    return "\n".join("\t" + line for line in text.splitlines())


def read_in(files: dict[str, str], batch: Batch) -> set[tuple[str, str, str]]:
    """The beginnings and ends of secrets that stand in these files."""
    return {
        (planted.kind, name, fragment)
        for planted in batch.planted
        for fragment in {piece for secret in planted.secrets for piece in (secret[:FRAGMENT], secret[-FRAGMENT:])}
        for name, text in files.items()
        if fragment in text
    }


@pytest.mark.parametrize("seed", range(BATCHES))
def test_no_secret_is_published(seed: int, tmp_path: Path) -> None:
    batch = batch_of(seed)
    files = published(tmp_path, batch)
    files |= {f"{name}, decoded": unquote(text) for name, text in files.items() if name == "issue.md"}
    files["report.json, read"] = str(json.loads(files["report.json"]))
    assert read_in(files, batch) == set()
    assert sum(json.loads(files["report.json"])["redacted"].values()) >= EACH


def filled(value: Any, texts: Iterator[str], key: str = "") -> Any:
    """The tree with a secret behind every text that is not one of a fixed set of words."""
    if isinstance(value, dict):
        return {name: filled(item, texts, name) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, texts, key) for item in value]
    fixed = key in ("symptom", "stage", "outcome", "kind", "fate", "verdict", "mode", "axis", "versions", "version")
    return f"{value}\n{next(texts)}" if isinstance(value, str) and not fixed else value


@pytest.mark.parametrize("seed", range(BATCHES, BATCHES + 3))
def test_nor_in_what_explain_sweep_and_bisect_write(seed: int, tmp_path: Path) -> None:
    batch = batch_of(seed)
    texts = itertools.cycle(batch.texts)
    write_explanation(tmp_path, decode(Explanation, filled(encode(EXPLAINED), texts)), Redactor())
    write_sweep(tmp_path, decode(SweepReport, filled(encode(SWEPT), texts)), Redactor())
    bisected = from_json(Redactor().tree(filled(to_json(BISECTED), texts)))
    (tmp_path / "bisect.json").write_text(json.dumps(to_json(bisected)))
    (tmp_path / "bisect.md").write_text(bisection_page(bisected))
    (tmp_path / "bisect.html").write_text(bisection_html(bisected))
    files = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert len(files) == 10 and all("<secret>" in text or "&lt;secret&gt;" in text for text in files.values())
    assert read_in(files, batch) == set()


def test_there_are_as_many_as_is_said() -> None:
    assert BATCHES * EACH >= 10_000
    assert len(KINDS) >= 40


def test_what_is_looked_for_would_be_found(tmp_path: Path) -> None:
    """Without redaction the same search finds them: it can fail."""
    from triage.report.redact import Unredacted

    secret = KINDS["github"](random.Random(1)).text
    report = decode(TriageReport, json.loads((GOLDEN / "report.json").read_text()) | {"notes": [secret]})
    write_report(tmp_path, report, ["md"], Unredacted())
    assert secret in (tmp_path / "report.md").read_text() and secret in (tmp_path / "report.json").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["redacted"] is None
