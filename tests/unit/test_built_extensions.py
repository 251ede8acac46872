"""What candidates find of the C++ extensions that the script, or another candidate, has built of the same files."""

import tempfile
from pathlib import Path

import pytest

from triage.agent.hooks import built_extensions

NINJA = "rule compile\n  command = c++ -c $in\n\nbuild main.o: compile {place}/main.cpp\nbuild ops.so: link main.o\n"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kept").mkdir()
    (tmp_path / "private").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "private"))
    return tmp_path / "kept"


def built(place: Path, kept: Path, source: str = "int f();", private: str | None = None) -> bool:
    """Whether ninja ran for this source in this directory."""
    place.mkdir(parents=True)
    (place / "main.cpp").write_text(source)
    (place / "build.ninja").write_text(NINJA.format(place=place))
    ran = []

    def ninja(directory: str, verbose: bool, error_prefix: str) -> None:
        ran.append(directory)
        (Path(directory) / "ops.so").write_text(source)

    built_extensions._found_or_built(ninja, str(kept), private)(str(place), False, error_prefix="")
    assert (place / "ops.so").read_text() == source
    return bool(ran)


def test_a_candidate_finds_what_the_script_built(tmp_path: Path, kept: Path) -> None:
    assert built(tmp_path / "home" / "ops", kept)
    assert not built(tmp_path / "private" / "1" / "ops", kept)
    assert built(tmp_path / "private" / "2" / "ops", kept, "int g();")
    assert len(list(kept.iterdir())) == 2


def test_nothing_is_put_into_the_persons_directory(tmp_path: Path, kept: Path) -> None:
    assert built(tmp_path / "private" / "ops", kept)
    assert built(tmp_path / "home" / "ops", kept)
    assert not built(tmp_path / "fresh" / "ops", kept, private=str(tmp_path / "fresh"))


def test_what_ninja_is_told_in_another_way_is_left_to_it(tmp_path: Path, kept: Path) -> None:
    ran: list[str] = []
    built_extensions._found_or_built(ran.append, str(kept))(str(tmp_path / "private"))
    assert ran and not list(kept.iterdir())
