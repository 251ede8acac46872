"""Interpreters with another release of torch, from the configured index: a minute and gigabytes each."""

import os
import subprocess
import sys
from pathlib import Path

from triage.environments.index_settings import IndexSettings
from triage.environments.installer import find_installer
from triage.probe.target import python_of


def interpreter_with(folder: Path, *wanted: str) -> str:
    """An interpreter in this folder with these distributions."""
    venv, installer = folder / "venv", find_installer()
    for words in (
        installer.make_venv(sys.executable, venv),
        installer.install(venv, list(wanted), [], [], IndexSettings()),
    ):
        subprocess.run(words, check=True, env=os.environ, stdout=subprocess.DEVNULL)
    return str(python_of(venv))
