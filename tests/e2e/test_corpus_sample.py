"""The stage of a sample of the scripts in a corpus folder (`TRIAGE_CORPUS=DIR`; skipped without one).

A corpus case is a folder with `script.py` and `meta.json` (stage, symptom, args, tags). `benchmarks/corpus.py` runs all.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = 4
CORPUS = Path(os.environ["TRIAGE_CORPUS"]) if os.environ.get("TRIAGE_CORPUS") else None


def exceptions() -> list[Path]:
    """Every n-th case that fails with an exception and is no trap."""
    if CORPUS is None or not CORPUS.is_dir():
        return []
    metas = {path.parent: json.loads(path.read_text()) for path in sorted(CORPUS.glob("*/meta.json"))}
    found = [
        folder
        for folder, meta in metas.items()
        if meta["symptom"] == "exception" and not set(meta["tags"]) & {"buried"}
    ]
    return found[:: max(1, len(found) // SAMPLE)][:SAMPLE]


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.skipif(not exceptions(), reason="TRIAGE_CORPUS names no corpus folder")
@pytest.mark.parametrize("folder", exceptions(), ids=lambda folder: folder.name)
def test_the_stage_is_the_one_the_corpus_names(folder: Path, tmp_path: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    place = tmp_path / "case"
    shutil.copytree(folder, place)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "triage",
            "run",
            "--json",
            "--no-reduce",
            "--out",
            str(tmp_path / "out"),
            "script.py",
            *meta["args"],
        ],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert done.stdout, done.stderr
    assert json.loads(done.stdout)["verdict"]["stage"] in meta["stage"].split("|")
