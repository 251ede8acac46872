"""The documentation as a site: it builds without a warning, loads nothing from elsewhere, and knows every option there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from command_reference import reference

ROOT = Path(__file__).parents[2]
_LOADED = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=["']?(https?:)?//""")


def test_the_reference_is_what_the_commands_say() -> None:
    """Written anew by `python tests/support/command_reference.py > docs/commands.md`."""
    assert (ROOT / "docs" / "commands.md").read_text() == reference()


def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {str(page.relative_to(tmp_path)): page.read_text() for page in tmp_path.rglob("*.html")}
    assert {"index.html", "commands.html", "tasks/crashes.html", "decisions/0002-libcst.html"} <= set(pages)
    loading = {name: _LOADED.findall(text) for name, text in pages.items() if _LOADED.search(text)}
    assert not loading
