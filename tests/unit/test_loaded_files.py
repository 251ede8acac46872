"""Which loaded files are the user's, and what is read of torch's settings: both are asked for each graph."""

import functools
import tempfile
from pathlib import Path
from types import ModuleType

import pytest

from triage.agent import whose
from triage.agent.capture import surroundings


@pytest.fixture(autouse=True)
def _torch_lies_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whose, "_torchs", lambda: "/opt/torch/")
    whose.is_users.cache_clear()


def test_modules_that_inductor_writes_are_not_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    written, default = tmp_path / "cache" / "ab" / "cab.py", tmp_path / "tmp" / "torchinductor_me" / "ab" / "cab.py"
    assert whose.is_users(str(written)) and not whose.is_users(str(default))
    whose.is_users.cache_clear()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    assert not whose.is_users(str(written)) and whose.is_users(str(tmp_path / "cached.py"))


def test_a_config_module_is_read_once(tmp_path: Path) -> None:
    config = ModuleType("some.config")
    config.__file__ = str(tmp_path / "config.py")
    (tmp_path / "config.py").write_text("class cpp:\n    threads = env('THREADS')\n\nplain = 1\n")
    assert surroundings.settings_of(config, ["THREADS"]) == ["cpp.threads"]
    (tmp_path / "config.py").unlink()
    assert surroundings.settings_of(config, ["THREADS", "X"]) == ["cpp.threads"]
    assert surroundings.settings_of(config, ["X"]) == []


def test_a_directory_is_resolved_once_and_a_link_to_a_file_still_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "installed.py").touch()
    (tmp_path / "here").symlink_to(tmp_path)
    (tmp_path / "linked.py").symlink_to(tmp_path / "site-packages" / "installed.py")
    real = whose.os.path.realpath
    monkeypatch.setattr(whose, "_real_directory", functools.lru_cache(lambda path: asked.append(path) or real(path)))
    own = [whose.is_users(str(tmp_path / "here" / f"{name}.py")) for name in ("a", "b", "linked")]
    assert own == [True, True, False]
    assert asked.count(str(tmp_path / "here")) == 1


def test_a_script_needs_no_ending_to_be_the_users_and_what_has_no_text_is_not() -> None:
    told = [
        whose.is_users(f"/home/ana/{name}")
        for name in ("train", "train.py", "_c.abi3.so", "train.pyc", "dist-packages/x.py")
    ]
    assert told == [True, True, False, False, False]
    assert not whose.is_users("<string>")
