"""What processes of one run share of the C++ compiler's work: only whole libraries that are named after their text."""

from pathlib import Path

import pytest

from triage.agent.hooks import built_kernels

KERNEL = f"c{'a' * 51}.main.so"


class Builder:
    """As `torch._inductor.cpp_builder.CppBuilder`, as far as it is wrapped."""

    def __init__(self, path: Path, works: bool = True) -> None:
        self.path, self.works, self.builds = path, works, 0

    def get_target_file_path(self) -> str:
        return str(self.path)

    def build(self) -> None:
        self.builds += 1
        if not self.works:
            raise RuntimeError("C++ compile error")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("built")


def built(builder: Builder, kernels: Path) -> int:
    """How often the compiler ran for it."""
    built_kernels._found_or_built(Builder.build, str(kernels))(builder)
    assert builder.path.read_text() == "built"
    return builder.builds


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    place = tmp_path / "kernels"
    place.mkdir()
    return place


def test_the_second_process_finds_what_the_first_built(tmp_path: Path, kernels: Path) -> None:
    assert built(Builder(tmp_path / "one" / "ca" / KERNEL), kernels) == 1
    assert [path.name for path in kernels.iterdir()] == [KERNEL]
    assert built(Builder(tmp_path / "two" / "ca" / KERNEL), kernels) == 0


def test_a_build_that_fails_leaves_nothing(tmp_path: Path, kernels: Path) -> None:
    with pytest.raises(RuntimeError):
        built(Builder(tmp_path / KERNEL, works=False), kernels)
    assert list(kernels.iterdir()) == []


@pytest.mark.parametrize("name", ["header.h.pch", "model.so", f"c{'a' * 51}.o", f"c{'a' * 51}.wrapper.so"])
def test_what_is_not_named_after_its_text_is_built_anew(tmp_path: Path, kernels: Path, name: str) -> None:
    assert built(Builder(tmp_path / name), kernels) == 1
    assert list(kernels.iterdir()) == []


def test_a_place_that_has_gone_makes_no_build_fail(tmp_path: Path, kernels: Path) -> None:
    kernels.rmdir()
    assert built(Builder(tmp_path / KERNEL), kernels) == 1


def test_a_full_place_takes_no_more(tmp_path: Path, kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built_kernels, "MOST", 0)
    assert built(Builder(tmp_path / KERNEL), kernels) == 1
    assert list(kernels.iterdir()) == []
