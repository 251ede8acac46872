"""The surroundings of a probe: a clean environment, private caches, and what is carried over from one to the next."""

import json
import os
from pathlib import Path

import pytest

from triage.model.stage import Stage
from triage.probe import staging
from triage.probe.run import ProbeRequest, stage_env
from triage.probe.staging import POISONOUS, SITE, environment, harvest_neutral, make_stage
from triage.probe.target import Target
from triage.session.events import Emitter, Event, Journal


def surroundings(base: dict[str, str], tmp_path: Path) -> dict[str, str]:
    stage = make_stage(None)
    try:
        return environment(base, stage, {"rung": "eager"}, trace=tmp_path, extra={"EXTRA": "1"})
    finally:
        stage.remove()


def test_what_would_change_a_probe_is_taken_out(tmp_path: Path) -> None:
    base = dict.fromkeys(POISONOUS, "x") | {"TRIAGE_TIMEOUT": "3", "HOME": "/home/ann", "CUDA_VISIBLE_DEVICES": "1"}
    found = surroundings({**base, "TORCHDYNAMO_REPRO_AFTER": "aot", "TORCH_COMPILE_DISABLE": "0"}, tmp_path)
    assert not {"TORCHDYNAMO_REPRO_AFTER", "PYTHONINSPECT", "TORCH_COMPILE_DISABLE", "TRIAGE_TIMEOUT"} & set(found)
    assert (found["HOME"], found["CUDA_VISIBLE_DEVICES"], found["EXTRA"]) == ("/home/ann", "1", "1")
    assert found["TORCHDYNAMO_SUPPRESS_ERRORS"] == "x"  # the person set it for the failing run's sake


def test_the_way_in_comes_first_and_the_users_path_stays(tmp_path: Path) -> None:
    assert surroundings({}, tmp_path)["PYTHONPATH"] == str(SITE)
    assert surroundings({"PYTHONPATH": "/a:/b"}, tmp_path)["PYTHONPATH"] == os.pathsep.join([str(SITE), "/a:/b"])


def test_caches_and_temporary_files_are_private(tmp_path: Path) -> None:
    first, second = (
        surroundings({"TMPDIR": "/elsewhere", "TORCHINDUCTOR_CACHE_DIR": "/warm"}, tmp_path) for _ in range(2)
    )
    for name in ("TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_COMPILE_DEBUG_DIR"):
        assert first[name] != second[name]
    assert json.loads(first["TRIAGE_AGENT"])["rung"] == "eager"
    assert first["TORCH_TRACE"] == str(tmp_path)


def test_the_users_logs_are_asked_for_as_well(tmp_path: Path) -> None:
    assert surroundings({"TORCH_LOGS": "+guards"}, tmp_path)["TORCH_LOGS"].startswith("+guards,dynamo,")


def test_a_stage_is_removed_whatever_the_target_made_of_it(tmp_path: Path) -> None:
    stage = make_stage(None)
    locked = stage.tmp / "locked"
    locked.mkdir()
    (locked / "file").touch()
    (stage.tmp / "link").symlink_to(tmp_path)
    (tmp_path / "mine").touch()
    locked.chmod(0o500)
    stage.remove()
    assert not stage.root.exists() and (tmp_path / "mine").exists()


@pytest.mark.parametrize("gone", [False, True])
def test_only_what_says_nothing_about_the_users_graphs_is_carried_over(tmp_path: Path, gone: bool) -> None:
    neutral, stage = tmp_path / "toolchain", make_stage(None)
    for name, source in (
        ("ab/isa", "int main() { return avx2(); }"),
        ("cd/user", 'extern "C" void kernel(float* x) {}'),
    ):
        path = stage.cache / name
        path.parent.mkdir()
        path.with_suffix(".cpp").write_text(source)
        path.with_suffix(".so").write_bytes(b"ELF")
    (stage.cache / "aotautograd").mkdir()
    (stage.cache / "aotautograd" / "entry").write_text("secret graph")
    if gone:
        stage.remove()
    harvest_neutral(stage, neutral)
    kept = (
        sorted(str(path.relative_to(neutral)) for path in neutral.rglob("*") if path.is_file())
        if neutral.exists()
        else []
    )
    assert kept == ([] if gone else ["ab/isa.cpp", "ab/isa.so"])
    again = make_stage(neutral)
    assert sorted(path.name for path in again.cache.rglob("*.so")) == ([] if gone else ["isa.so"])
    again.remove()
    stage.remove()


def test_headers_go_where_there_are_too_many_and_others_remove_them_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was ended halfway left one without its text: that must not end the sharing for good."""
    monkeypatch.setattr(staging, "HEADERS_LIMIT", 2)
    store = tmp_path / "toolchain-headers"
    store.mkdir()
    for number, name in enumerate(("old", "half", "new", "newest")):
        (store / f"{name}.h").write_text("")
        (store / f"{name}.h.gch").write_text("x")
        os.utime(store / f"{name}.h.gch", (number, number))
    (store / "half.h").unlink()
    (store / "gone.h.gch").symlink_to(store / "nowhere")
    staging.prune_headers(tmp_path / "toolchain")
    shared = staging.shared_with_forks(tmp_path / "toolchain")
    assert (shared / "headers").resolve() == store.resolve()
    assert {path.name for path in store.iterdir()} == {"new.h", "new.h.gch", "newest.h", "newest.h.gch", "gone.h.gch"}


def test_a_listener_that_raises_ends_nothing_and_the_others_are_told_once() -> None:
    heard: list[Event] = []
    seen: list[str] = []

    def broken(event: Event) -> None:
        seen.append(event.kind)
        raise ValueError("no terminal")

    emit = Emitter(broken, heard.append)
    emit("one", stage=Stage.DYNAMO, path=Path("x"))
    emit("two")
    assert [event.kind for event in heard] == ["listener_failed", "one", "two"]
    assert heard[0].facts["event"] == "one" and heard[0].facts["error"] == "ValueError: no terminal"
    assert heard[1].facts == {"stage": "dynamo", "path": "x"}
    assert seen == ["one", "listener_failed", "two"]


def test_the_journal_is_written_as_it_is_learned(tmp_path: Path) -> None:
    emit = Emitter(Journal(tmp_path / "journal.jsonl"))
    for kind in ("one", "two"):
        emit(kind, number=1)
        lines = (tmp_path / "journal.jsonl").read_text().splitlines()
        assert json.loads(lines[-1]) | {"t": 0} == {"t": 0, "kind": kind, "number": 1}
    Emitter(Journal(tmp_path / "no" / "journal.jsonl"))("one")  # a directory that went away ends nothing


@pytest.mark.parametrize("kept", [True, False])
def test_kernels_of_triton_are_built_once_in_a_run(tmp_path: Path, kept: bool) -> None:
    stage = make_stage(None)
    request = ProbeRequest(
        "a",
        Target("python", ("python",), tmp_path),
        None,
        9.0,
        tmp_path,
        kernels=tmp_path / "kernels" if kept else None,
    )
    place = Path(stage_env(request, stage)["TRITON_CACHE_DIR"])
    stage.remove()
    assert place == (tmp_path / "kernels" if kept else stage.cache) / "triton"
