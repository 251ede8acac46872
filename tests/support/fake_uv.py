"""A stand-in for uv, and a workshop that installs with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from packaging.version import Version

from triage.environments.cache import EnvironmentCache
from triage.environments.index_settings import IndexSettings
from triage.environments.installer import Installer
from triage.environments.interpreters import Interpreter
from triage.environments.releases import Release
from triage.environments.venvs import Recipe, Workshop
from triage.model.rungs import BACKENDS

MIB = 1024**2
RELEASE = Release(Version("2.8.0"), "torch==2.8.0+cpu", 200 * MIB, label="cpu")

# A stand-in for uv: `venv` makes a directory whose python tells the smoke test what FAKE_SMOKE says, `pip install` does what
# FAKE_INSTALL says.
FAKE_UV = f"""#!{sys.executable}
import os, sys, time
from pathlib import Path
words = sys.argv[1:]
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(" ".join(words) + "\\n")
if words[0] == "venv":
    place = Path(words[-1]) / "bin"
    place.mkdir(parents=True)
    python = place / "python"
    python.write_text("#!/bin/sh\\n" + os.environ.get("FAKE_SMOKE", ""))
    python.chmod(0o755)
    (place / "torchrun").write_text("#!" + str(python) + "\\n")
    sys.exit(0)
mode = os.environ.get("FAKE_INSTALL", "ok")
place = Path(words[words.index("--python") + 1]).parent.parent
(place / "payload").write_bytes(b"x" * 100_000)
if mode == "slow":
    Path(os.environ["FAKE_LOG"] + ".begun").touch()
    time.sleep(60)
if mode != "ok":
    sys.stderr.write(mode)
    sys.exit(1)
"""
FACTS_LINE = {"torch": "2.8.0+cpu", "git_version": "abc", "packages": {"numpy": "1.26.4"}}


def smoke_lines(**errors: str) -> str:
    lines = [json.dumps(FACTS_LINE), *(json.dumps({"rung": rung, "error": errors.get(rung)}) for rung in BACKENDS)]
    return "\n".join(f"echo '{line}'" for line in lines)


def workshop(tmp_path: Path, uv: Installer, **recipe: object) -> Workshop:
    interpreter = Interpreter(sys.executable, (3, 11), "3.11.7")
    cache = EnvironmentCache(tmp_path / "cache")
    made = Recipe(interpreter, uv, IndexSettings(), **recipe)
    return Workshop(cache, made, tmp_path / "logs", lambda kind, **facts: None)
