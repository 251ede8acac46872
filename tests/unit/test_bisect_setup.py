"""Setting up: what happens without PyTorch's index, without any index, and with a Python that is too new."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

from triage.bisect import setup
from triage.bisect.axis import Wish
from triage.bisect.setup import look, set_up
from triage.bisect.state import Ask
from triage.environments.index import IndexUnreachableError, Wheel, parse_page
from triage.environments.index_settings import IndexSettings
from triage.errors import TargetError
from triage.probe.target import Target

HERE = sys.version_info[:2]


def wheels(*versions: str, label: str = "", python: str = f"cp{HERE[0]}{HERE[1]}") -> list[Wheel]:
    names = [f"torch-{version}{label}-{python}-{python}-linux_x86_64.whl" for version in versions]
    return parse_page("".join(f'<a href="{name}">x</a>' for name in names), "https://i/torch/")


def unreachable(project: str, index: str, *rest: object) -> list[Wheel]:
    raise IndexUnreachableError(f"{index}: no route")


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "all_wheels", lambda project, settings: (wheels("2.8.0", "2.9.0"), []))
    monkeypatch.setattr("triage.environments.releases.platform_tags", lambda: ["linux_x86_64"])
    monkeypatch.setattr("sys.platform", "linux")


def ask(**wish: object) -> Ask:
    return Ask(("train.py",), "/", wish=Wish(**wish))


def target(python: str) -> Target:
    return Target(python, (python, "train.py"), Path())


def test_without_pytorchs_index_the_configured_one_serves(mirror):
    found = look(ask(), IndexSettings(), unreachable)
    assert {str(wheel.version) for wheel in found.wheels} == {"2.8.0", "2.9.0"}
    assert found.indexes == ()
    assert "could not be reached" in found.notes[0]


def test_pytorchs_index_comes_first(mirror):
    found = look(ask(), IndexSettings(), lambda project, index, *rest: wheels("2.9.0", label="+cpu"))
    assert str(found.wheels[0].version) == "2.9.0+cpu"
    assert found.indexes == ("https://download.pytorch.org/whl/cpu",)


def test_the_index_itself_is_asked_and_may_keep_silent_for_moments_only(mirror, monkeypatch):
    silences: list[float] = []

    def open_url(request: object, *, timeout: float, context: object) -> object:
        silences.append(timeout)
        raise OSError("no route")

    monkeypatch.setattr("urllib.request.urlopen", open_url)
    assert "no route" in look(ask(), IndexSettings()).notes[0]
    assert silences == [setup.QUICK_SECONDS]


def test_without_any_index_there_is_one_message(monkeypatch):
    monkeypatch.setattr(
        setup, "all_wheels", lambda project, settings: ([], ["https://pypi.org/simple/torch/: no route"])
    )
    with pytest.raises(TargetError, match="package index cannot be reached") as caught:
        look(ask(), IndexSettings(), unreachable)
    assert "no route" in caught.value.why
    assert "--versions" in caught.value.next
    assert look(ask(versions=("2.8.0", "2.9.0")), IndexSettings(), unreachable).wheels == ()


def test_a_nightly_in_the_list_is_looked_for_among_nightlies(mirror):
    asked: list[str] = []

    def index(project: str, url: str, *rest: object) -> list[Wheel]:
        asked.append(url)
        return wheels("2.10.0.dev20250901", label="+cpu") if "nightly" in url else []

    found = look(ask(versions=("2.9.0", "2.10.0.dev20250901")), IndexSettings(), index)
    assert len(found.nightlies) == 1
    assert asked[-1].endswith("/nightly/cpu")


def test_a_setup_is_an_axis_and_one_interpreter_for_it(mirror, monkeypatch, tmp_path):
    monkeypatch.setattr(setup, "project_wheels", unreachable)
    monkeypatch.setattr(setup, "look", lambda asked, settings: look(asked, settings, unreachable))
    made = set_up(Ask(("train.py",), str(tmp_path), installer="pip"), sys.executable, target)
    assert made.axis.names == ("2.8.0", "2.9.0")
    assert made.python.startswith(f"{HERE[0]}.{HERE[1]}.")
    assert made.builds == "default"


def test_a_python_that_is_too_new_is_replaced_or_told(mirror, monkeypatch, tmp_path):
    monkeypatch.setattr(setup, "look", lambda asked, settings: look(asked, settings, unreachable))
    monkeypatch.setattr(setup, "examine", lambda path: None)
    monkeypatch.setattr("triage.environments.interpreters.find_version", lambda *rest: None)
    with pytest.raises(TargetError, match=r"No Python 3\.99 was found, which torch 2\.8\.0 to 2\.9\.0 need"):
        set_up(Ask(("train.py",), str(tmp_path), python="3.99", installer="pip"), sys.executable, target)


@pytest.mark.skipif(os.name == "nt", reason="the variables of a shell")
def test_the_command_says_it_in_three_lines(tmp_path):
    (tmp_path / "train.py").write_text("import torch\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    env |= {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "XDG_CACHE_HOME": str(tmp_path),
    }
    words = [sys.executable, "-m", "triage", "bisect", "train.py", "--flavour", "any"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4
    lines = done.stderr.splitlines()
    assert (
        lines[0] == "triage: The package index cannot be reached, so it is not known which versions of torch there are."
    )
    assert [line.split()[0] for line in lines[1:]] == ["why:", "next:"]
    assert not (tmp_path / "triage-out").exists()


def test_versions_are_those_of_pep_440():
    assert Version("2.10.0") > Version("2.9.1") > Version("2.9.0.dev20250701")
