"""What goes into an environment: which Python, which requirements, which installer, and which of a person's own settings."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packaging.version import Version

from triage.environments.index_settings import IndexSettings
from triage.environments.installer import Installer, find_uv, installer_environment
from triage.environments.interpreters import candidates, choose_interpreter, find_version
from triage.environments.recipes import python_range, refusal, requirements_for
from triage.environments.requirements import gather
from triage.errors import TargetError, UsageError


def versions(*texts: str) -> list[Version]:
    return [Version(text) for text in texts]


def test_one_python_is_chosen_that_suits_every_version():
    assert candidates((3, 11), versions("2.1.2", "2.15.0")) == [(3, 11)]
    assert candidates((3, 13), versions("2.1.2", "2.15.0")) == [(3, 11)]
    assert candidates((3, 13), versions("2.6.0", "2.9.1"))[0] == (3, 13)
    assert candidates((3, 12), versions("2.3.1", "2.6.0"))[0] == (3, 11)
    assert candidates((3, 9), versions("2.15.0")) == [(3, 11)]


def test_the_targets_own_python_is_taken_where_it_suits():
    own = choose_interpreter(sys.executable, None, versions("2.13.0"), Installer())
    assert own.python == sys.version_info[:2]
    assert own.note is None


def test_a_python_that_is_not_there_is_told_with_what_to_do(monkeypatch):
    monkeypatch.setattr("triage.environments.interpreters.find_version", lambda *args: None)
    with pytest.raises(TargetError, match=r"No Python 3\.77 was found") as caught:
        choose_interpreter(sys.executable, "3.77", versions("2.1.2", "2.3.1"), Installer())
    assert "--python" in caught.value.next
    with pytest.raises(TargetError, match="is not a CPython"):
        choose_interpreter(sys.executable, "/bin/false", versions("2.1.2"), Installer())


def test_an_interpreter_is_found_by_its_version():
    found = find_version(sys.version_info[:2], sys.executable, Installer())
    assert found.python == sys.version_info[:2]


def test_pythons_that_torch_compile_refuses():
    assert refusal(Version("2.3.1"), (3, 11)) is None
    assert refusal(Version("2.3.1"), (3, 12)) == "its torch.compile refuses Python 3.12"
    assert refusal(Version("2.9.1"), (3, 9)) == "no wheel for Python 3.9: it needs 3.10 or newer"
    assert refusal(Version("2.16.0.dev20261118"), (3, 15)) is None
    assert python_range(Version("9.9")).first == Version("2.15")


def test_the_persons_word_on_a_package_wins_over_a_pin():
    assert requirements_for((3, 11), ("numpy==2.1.0",)) == ("setuptools<81", "packaging", "numpy==2.1.0")
    assert requirements_for((3, 13))[0] == "numpy"


def test_requirements_files_lose_their_torch(tmp_path):
    (tmp_path / "base.txt").write_text("nvidia-nccl-cu12==2.21\ntriton==3.4.0\n-c pins.txt\n")
    (tmp_path / "pins.txt").write_text("torch==2.8.0\nnumpy<2\n")
    (tmp_path / "r.txt").write_text(
        "# what we need\ntorch==2.8.0 ; python_version > '3'\ntorchvision==0.23.0\ntqdm # a bar\n-r base.txt\n-e ./pkg[dev]\n"
        "timm==1.0 \\\n  --hash=sha256:ab\n--extra-index-url https://x/simple\n"
    )
    found = gather([Path("r.txt")], tmp_path)
    assert found.lines == (
        "torchvision", "tqdm", f"-e {tmp_path}/pkg[dev]", "timm==1.0    --hash=sha256:ab", "--extra-index-url https://x/simple",
    )  # fmt: skip
    assert found.constraints == ("numpy<2",)
    assert "torchvision==0.23.0" in found.dropped
    with pytest.raises(UsageError, match=r"none\.txt cannot be read"):
        gather([Path("none.txt")], tmp_path)


def test_a_persons_own_environment_does_not_leak_into_an_installation(tmp_path):
    base = {"PIP_CONSTRAINT": "/c", "VIRTUAL_ENV": "/v", "UV_INDEX": "x", "HOME": "/h"}
    env = installer_environment(base, tmp_path, IndexSettings(cert="/nowhere.pem"))
    assert "PIP_CONSTRAINT" not in env and "VIRTUAL_ENV" not in env
    assert (env["UV_INDEX"], env["UV_CACHE_DIR"]) == ("x", str(tmp_path))
    assert "SSL_CERT_FILE" not in env
    assert (
        installer_environment({**base, "UV_CACHE_DIR": "/mine"}, tmp_path, IndexSettings())["UV_CACHE_DIR"] == "/mine"
    )


def test_without_uv_pip_does_the_work(tmp_path):
    pip = Installer()
    assert pip.make_venv("/usr/bin/python3", tmp_path)[:4] == ("/usr/bin/python3", "-I", "-m", "venv")
    words = pip.install(tmp_path, ["torch==2.8.0"], [], ["https://x/whl/cpu"], IndexSettings("https://m/simple"))
    assert words[-3:] == ("--extra-index-url", "https://x/whl/cpu", "torch==2.8.0")
    assert "https://m/simple" not in words  # pip reads its own settings


def test_uv_is_looked_for_beside_us_on_the_path_and_as_a_module(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert find_uv() == ()
    (tmp_path / "uv").write_text("#!/bin/sh\n")
    (tmp_path / "uv").chmod(0o755)
    assert find_uv() == (str(tmp_path / "uv"),)
