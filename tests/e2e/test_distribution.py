"""The wheel and the sdist hold what an installed triage needs, and it works outside of the checkout."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.slow]  # what builds the wheel is downloaded

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both; the wheel is made from the sdist, so that this holds what it needs, too."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--quiet", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, timeout=500)
    return out


def test_the_wheel_holds_data_and_entry_points(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        told = "".join(archive.read(name).decode() for name in names if name.endswith("/entry_points.txt"))
    data = {path.relative_to(ROOT).as_posix() for path in (ROOT / "triage").rglob("*.json")}
    data |= {f"triage/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "templates").iterdir()}
    assert data and data - names == set()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"triage"}
    assert "triage = triage.cli.app:main" in told
    assert "triage = triage.testing.plugin" in told


def test_the_sdist_holds_tests_and_docs(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "docs/report.md", "tests/conftest.py", "triage/cli/app.py", "README.md"} - names == set()


def test_it_works_where_it_is_installed(built: Path, tmp_path: Path) -> None:
    """The wheel alone, its dependencies seen through a path: torch is not downloaded again."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", str(wheel)], check=True, timeout=300)
    (packages,) = {path for path in sys.path if (Path(path) / "typer").is_dir()}
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "seen.pth").write_text(f"{packages}\n")
    golden = ROOT / "tests" / "golden" / "inductor_exception"
    environment = {"PATH": "/usr/bin:/bin"}  # no PYTHONPATH: the checkout is not there
    for words, expected in [
        (["--version"], "triage "),
        (["report", str(golden), "-f", "github"], (golden / "issue.md").read_text()),
        (["report", "--schema"], '"report.json"'),
    ]:
        command = [str(tmp_path / "venv" / "bin" / "triage"), *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
        assert expected in done.stdout, done.stderr
    where = [str(python), "-c", "import triage; print(triage.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert str(site) in found.stdout
    plugin = [str(python), "-m", "pytest", "--help", "-p", "no:cacheprovider"]
    told = subprocess.run(plugin, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100).stdout
    assert "--triage-budget" in told
