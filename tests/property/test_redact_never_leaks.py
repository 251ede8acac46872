"""A secret put in any field, in any log or in the reproducer is in no output: not as such, and not percent-encoded."""

from __future__ import annotations

import json
import string
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from triage.model.codec import decode
from triage.model.report import TriageReport
from triage.report.credentials import worth_hiding
from triage.report.redact import Redactor
from triage.report.store import FILES, write_report

GOLDEN = Path(__file__).parents[1] / "golden" / "inductor_exception"
BASE = json.loads((GOLDEN / "report.json").read_text())
USED = "".join(path.read_text() for path in sorted(GOLDEN.iterdir()) if path.is_file())
WORDS = {"symptom", "stage", "on", "outcome", "face"}  # what a decision is made by
FILE_NAMES = {"path", "log", "artifacts"}
LOG = "start {}\nTraceback (most recent call last):\n  in {}.\nE: '{}'\n"
ALNUM = string.ascii_letters + string.digits
FORMATS = list(FILES)


def text(alphabet: str, size: int, most: int | None = None) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=size, max_size=most or size)


BY_SHAPE = st.one_of(
    text(ALNUM, 36).map("ghp_".__add__),
    text(ALNUM + "_", 82).map("github_pat_".__add__),
    text(ALNUM, 34).map("hf_".__add__),
    text(ALNUM + "-_", 40, 120).map("sk-".__add__),
    text(string.ascii_uppercase + string.digits, 16).map("AKIA".__add__),
    text(ALNUM + "-", 20, 60).map("xoxb-".__add__),
    text(ALNUM + "-_", 35).map("AIza".__add__),
    st.tuples(text(ALNUM + "-_", 20), text(ALNUM + "-_", 20), text(ALNUM + "-_", 43)).map(
        lambda parts: "eyJ" + ".".join(parts)
    ),
)
BY_VALUE = text(ALNUM + "!#$%&'()*+,-./:;=?@[]^_{|}~\\\"`", 8, 60)
BY_OPTION = text(ALNUM + "+/=_.", 8, 40)


def planted(tree: Any, around: str, key: str = "") -> Any:
    """The tree with the secret in every string that is free text."""
    if isinstance(tree, dict):
        return {name: planted(item, around, name) if name not in FILE_NAMES else item for name, item in tree.items()}
    if isinstance(tree, list):
        return [planted(item, around, key) for item in tree]
    return around.replace("%", tree, 1) if isinstance(tree, str) and key not in WORDS else tree


def outputs(tree: Any, secret: str, redactor: Redactor) -> str:
    with tempfile.TemporaryDirectory() as name:
        run_dir = Path(name)
        (run_dir / "logs").mkdir()
        (run_dir / "logs" / "inductor.log").write_text(LOG.replace("{}", secret))
        (run_dir / "repro.py").write_text(f"import torch\nx = '{secret}'  # {secret}\n")
        (run_dir / "passing.py").write_text(f"import torch\ny = '{secret}'\n")
        write_report(run_dir, decode(TriageReport, tree), FORMATS, redactor)
        texts = [(run_dir / FILES[fmt]).read_text() for fmt in FORMATS]
        texts += [str(json.loads(texts[FORMATS.index("json")])), (run_dir / "error.log").read_text()]
    return "\n".join([*texts, *map(unquote, texts)])


@given(BY_SHAPE, st.sampled_from(["% {}", "{}%", "'{}' %", "%: {}, and {}", "%\n{}\n", "(% \x1b[1m{}\x1b[0m)"]))
@settings(max_examples=60, deadline=None)
def test_a_secret_known_by_its_shape(secret: str, around: str) -> None:
    assert secret not in outputs(planted(BASE, around.replace("{}", secret)), secret, Redactor())


@given(BY_VALUE, st.sampled_from(["% {}", "{}%", "'{}' %", "x{}y %"]))
@settings(max_examples=60, deadline=None)
def test_a_secret_known_by_its_variable(secret: str, around: str) -> None:
    assume(secret not in USED and worth_hiding(secret) and "%" not in secret)
    redactor = Redactor(environ={"SERVICE_TOKEN": secret})
    assert secret not in outputs(planted(BASE, around.replace("{}", secret)), secret, redactor)


@given(BY_OPTION, st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_secret_known_by_its_option(secret: str, joined: bool) -> None:
    assume(secret not in USED and worth_hiding(secret))
    tree = planted(BASE, f"% {secret}")
    tree["command"] = ["python", "t.py", *([f"--api-key={secret}"] if joined else ["--api-key", secret])]
    assert secret not in outputs(tree, secret, Redactor())
