"""Environments against a zoo of installers: complete or absent, within the bound, nobody else's files touched."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_uv import FAKE_UV, MIB, RELEASE, smoke_lines, workshop

from triage.environments import cache as cache_module
from triage.environments.cache import FACTS, MAKING, MARKER, EnvironmentCache, key_of
from triage.environments.files import tree_bytes
from triage.environments.index_settings import IndexSettings
from triage.environments.installer import Installer
from triage.environments.interpreters import Interpreter
from triage.environments.requirements import Gathered
from triage.environments.smoke import problem_of
from triage.environments.venvs import Recipe, StoppedError, UntestableError
from triage.errors import TargetError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "uv.log"
    monkeypatch.setenv("FAKE_LOG", str(path))
    monkeypatch.setenv("FAKE_SMOKE", smoke_lines())
    monkeypatch.delenv("FAKE_INSTALL", raising=False)
    return path


@pytest.fixture
def uv(tmp_path: Path) -> Installer:
    path = tmp_path / "fake-uv"
    path.write_text(FAKE_UV)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Installer((str(path),))


@pytest.fixture(autouse=True)
def plenty_of_room(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def set_free(free: int) -> None:
        usage = shutil.disk_usage("/")
        monkeypatch.setattr(cache_module.shutil, "disk_usage", lambda place: usage._replace(free=free))

    set_free(1000 * 1024**3)
    return set_free


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.name != ".installing.lock")


# -- making ---------------------------------------------------------------------------------------------------------


def test_an_environment_is_made_once_and_then_found(tmp_path, uv, log):
    first = workshop(tmp_path, uv).ready(RELEASE)
    again = workshop(tmp_path, uv).ready(RELEASE)
    assert (first.made, again.made) == (True, False)
    assert first.python == again.python
    assert (again.git_version, again.packages) == ("abc", {"numpy": "1.26.4"})
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["venv", "pip"]
    assert len(names(tmp_path / "cache")) == 1


def test_scripts_name_the_interpreter_by_its_final_path(tmp_path, uv, log):
    made = workshop(tmp_path, uv).ready(RELEASE)
    assert (Path(made.python).parent / "torchrun").read_text() == f"#!{made.python}\n"


def test_what_is_asked_for_is_installed_with_the_pins(tmp_path, uv, log):
    shop = workshop(tmp_path, uv, wanted=("einops==0.8.1",), gathered=Gathered(("tqdm",), ("sympy<1.14",)))
    made = shop.ready(RELEASE)
    root = made.stored.directory
    wanted = (root / "requirements.txt").read_text().splitlines()
    assert wanted[:6] == ["torch==2.8.0+cpu", "numpy<2", "setuptools<81", "packaging", "einops==0.8.1", "tqdm"]
    assert (root / "constraints.txt").read_text() == "sympy<1.14\n"


def test_another_recipe_is_another_environment(tmp_path, uv):
    plain = workshop(tmp_path, uv).key(RELEASE)
    assert plain.startswith("torch-2.8.0+cpu-cp311-")
    assert workshop(tmp_path, uv, wanted=("einops",)).key(RELEASE) != plain
    assert workshop(tmp_path, uv, gathered=Gathered((), ("numpy<1.25",))).key(RELEASE) != plain


NO_WHEEL = "error: No solution found\n  cause: Because there is no version of torch==2.8.0+cpu and you require it, unsatisfiable."


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (NO_WHEEL, "no wheel: "),
        (
            "  x No solution found: einops depends on numpy>=2, your requirements are unsatisfiable",
            "do not fit this torch",
        ),
        ("error: Failed to build `thing`", "install failed: Failed to build"),
    ],
)
def test_what_is_wrong_with_one_version_makes_it_untestable(tmp_path, uv, log, monkeypatch, said, reason):
    monkeypatch.setenv("FAKE_INSTALL", said)
    with pytest.raises(UntestableError, match=reason):
        workshop(tmp_path, uv).ready(RELEASE)
    assert names(tmp_path / "cache") == []


def test_a_full_disk_ends_it_with_one_clear_message(tmp_path, uv, log, monkeypatch):
    monkeypatch.setenv("FAKE_INSTALL", "error: failed to write\n  cause: No space left on device (os error 28)")
    with pytest.raises(TargetError, match="not enough room on the disk") as caught:
        workshop(tmp_path, uv).ready(RELEASE)
    assert "XDG_CACHE_HOME" in caught.value.next
    assert names(tmp_path / "cache") == []


def test_a_disk_that_would_be_full_is_seen_before_anything_is_made(tmp_path, uv, log, plenty_of_room):
    plenty_of_room(2 * 1024**3)
    with pytest.raises(TargetError, match="not enough room") as caught:
        workshop(tmp_path, uv).ready(RELEASE)
    assert "needs 2.6 GiB; 2.0 GiB are free" in caught.value.why
    assert not log.exists()


def test_a_network_that_fails_twice_ends_it_with_one_clear_message(tmp_path, uv, log, monkeypatch):
    monkeypatch.setenv("FAKE_INSTALL", "error: Failed to fetch\n  cause: dns error\n  cause: Name or service not known")
    with pytest.raises(TargetError, match="could not be downloaded") as caught:
        workshop(tmp_path, uv).ready(RELEASE)
    assert "network" in caught.value.next
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["venv", "pip", "pip"]
    assert names(tmp_path / "cache") == []


def test_a_python_that_is_too_new_is_told_before_anything_is_installed(tmp_path, uv, log):
    shop = workshop(tmp_path, uv)
    shop._recipe = Recipe(Interpreter("/x", (3, 14), "3.14.0"), uv, IndexSettings())
    with pytest.raises(UntestableError, match=r"its torch.compile refuses Python 3\.14"):
        shop.ready(RELEASE)
    assert not log.exists()


def test_an_environment_that_cannot_compile_may_not_judge(tmp_path, uv, log, monkeypatch):
    monkeypatch.setenv("FAKE_SMOKE", smoke_lines(inductor="InductorError: No module named setuptools"))
    said = "cannot compile a trivial function with inductor: InductorError: No module named setuptools"
    shop = workshop(tmp_path, uv)
    with pytest.raises(UntestableError, match=said):
        shop.ready(RELEASE)
    assert shop.made == 1  # as the answer counts them
    # It is kept, and tried again: a compiler may be there by now.
    python = next((tmp_path / "cache").glob("torch-*/venv/bin/python"))
    python.write_text("#!/bin/sh\n" + smoke_lines())
    assert not workshop(tmp_path, uv).ready(RELEASE).made


@pytest.mark.parametrize(
    ("lines", "ended", "problem"),
    [
        ([], (None, False), "its Python could not be started: boom"),
        (
            [{"torch": None, "torch_error": "OSError: libcudart"}],
            (None, False),
            "torch cannot be imported: OSError: libcudart",
        ),
        (
            [{"torch": "2.3", "dynamo_error": "Python 3.12+ not supported"}],
            (None, False),
            "refuses to work: Python 3.12",
        ),
        ([{"torch": "2.3"}, {"rung": "eager", "error": None}], ("SIGSEGV", False), "died with SIGSEGV with aot_eager"),
        ([{"torch": "2.3"}, {"rung": "eager", "error": None}], (None, True), "did not end with aot_eager"),
    ],
)
def test_a_smoke_test_says_what_is_wrong(lines, ended, problem):
    found = problem_of(lines, *ended, "boom")
    assert found is not None
    assert problem in found


def test_a_stopped_workshop_ends_its_installation_and_leaves_nothing(tmp_path, uv, log, monkeypatch):
    monkeypatch.setenv("FAKE_INSTALL", "slow")
    shop = workshop(tmp_path, uv)
    raised: list[BaseException] = []

    def work() -> None:
        try:
            shop.ready(RELEASE)
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    _until(Path(f"{log}.begun").exists)
    shop.stop()
    thread.join(20)
    assert isinstance(raised[0], StoppedError)
    assert names(tmp_path / "cache") == []


def test_killed_in_the_middle_of_an_installation_nothing_half_made_is_used(tmp_path, uv, log):
    program = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from fake_uv import RELEASE, workshop
        from triage.environments.installer import Installer
        workshop(Path({str(tmp_path)!r}), Installer({uv.uv!r})).ready(RELEASE)
    """)
    env = {
        **os.environ,
        "FAKE_INSTALL": "slow",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")]),
    }
    victim = subprocess.Popen([sys.executable, "-c", program], env=env)
    _until(Path(f"{log}.begun").exists)
    assert [name[:8] for name in names(tmp_path / "cache")] == [".making-"]
    alive = EnvironmentCache(tmp_path / "cache")
    alive.sweep()
    assert len(names(tmp_path / "cache")) == 1  # it is being made: not ours to remove
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    _until(lambda: not EnvironmentCache(tmp_path / "cache") or names(tmp_path / "cache") == [])
    made = workshop(tmp_path, uv).ready(RELEASE)
    assert made.made
    assert names(tmp_path / "cache") == [made.stored.directory.name]


def _until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.05)


# -- the bound ------------------------------------------------------------------------------------------------------


def fill(cache: EnvironmentCache, name: str, size: int, used: float) -> Path:
    making = cache.begin(name, 0)
    (making / "venv").mkdir()
    (making / "venv" / "data").write_bytes(b"x" * size)
    stored = cache.finish(making, name, {})
    cache.release(stored.directory)
    os.utime(stored.directory / MARKER, (used, used))
    return stored.directory


def test_the_least_recently_used_go_first(tmp_path):
    cache = EnvironmentCache(tmp_path, 25 * MIB)
    for number, name in enumerate(("a", "b", "c", "d")):
        fill(cache, name, 5 * MIB, 1000.0 + number)
    assert cache.find("a") is not None  # used now, and in use
    cache.keep_bound(11 * MIB)
    assert names(tmp_path) == ["a", "d"]


def test_an_environment_in_use_stays_whatever_the_bound(tmp_path):
    cache = EnvironmentCache(tmp_path, 25 * MIB)
    fill(cache, "a", 5 * MIB, 1000.0)
    other = EnvironmentCache(tmp_path, 1)
    held = other.find("a")
    cache.keep_bound(0)
    assert names(tmp_path) == ["a"]
    other.release(held.directory)
    cache.keep_bound(0)
    assert names(tmp_path) == []


def test_what_lacks_our_marker_is_never_removed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / ".making-mine").mkdir()
    (tmp_path / ".removing-mine").mkdir()
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / MARKER).write_text('{"other": 1}')
    cache = EnvironmentCache(tmp_path, 1)
    cache.sweep()
    cache.keep_bound(0)
    assert {"mine", ".making-mine", ".removing-mine"} <= set(names(tmp_path))
    assert (tmp_path / "mine" / "thesis.txt").exists()
    assert cache.find("mine") is None
    assert cache.find("fake") is None


def test_downloads_that_no_environment_shares_count_and_go_with_the_others(tmp_path):
    cache = EnvironmentCache(tmp_path, 100 * MIB)
    directory = fill(cache, "a", 1 * MIB, 1000.0)
    for name in ("shared", "alone"):
        archive = cache.downloads / "archive-v0" / name
        archive.mkdir(parents=True)
        (archive / "wheel").write_bytes(b"x" * 4 * MIB)
    os.link(cache.downloads / "archive-v0" / "shared" / "wheel", directory / "venv" / "wheel")
    assert cache.total_bytes() < 7 * MIB
    cache.keep_bound(2 * MIB)
    assert names(cache.downloads / "archive-v0") == []
    cache.keep_bound(0)
    assert names(tmp_path) == ["downloads"]


def test_what_a_killed_installer_had_not_finished_goes_unless_one_is_at_work(tmp_path):
    cache = EnvironmentCache(tmp_path)
    (cache.downloads / ".tmpAbc" / "half").mkdir(parents=True)
    (cache.downloads / "archive-v0").mkdir()
    with cache.installing():
        EnvironmentCache(tmp_path)
        assert names(cache.downloads) == [".tmpAbc", "archive-v0"]
    EnvironmentCache(tmp_path)
    assert names(cache.downloads) == ["archive-v0"]


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetError, match="cannot be written"):
        EnvironmentCache(tmp_path / "file" / "cache")


def test_facts_found_out_later_are_kept(tmp_path):
    cache = EnvironmentCache(tmp_path)
    fill(cache, "a", 10, 1000.0)
    stored = cache.find("a")
    assert stored is not None
    cache.update(stored, smoke="passed")
    again = EnvironmentCache(tmp_path).find("a")
    assert again.facts["smoke"] == "passed"
    assert (tmp_path / "a" / FACTS).exists()
    assert not (tmp_path / "a" / MAKING).exists()


def test_a_key_is_readable_and_depends_on_every_part():
    assert key_of("torch-2.8.0+cpu", ["a", "b"]) != key_of("torch-2.8.0+cpu", ["ab", ""])
    assert key_of("../x y", []).startswith(".._x_y-")


def test_a_tree_is_measured_with_links_counted_once(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * MIB)
    os.link(tmp_path / "a", tmp_path / "b")
    assert MIB <= tree_bytes(tmp_path) < 1.5 * MIB
