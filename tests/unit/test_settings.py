"""Where settings come from, and what is said of those that do not fit."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from triage.errors import UsageError
from triage.session.settings import Settings, load_settings


def load(
    given: dict[str, Any] | None = None, environ: dict[str, str] | None = None, folder: Path = Path("/")
) -> Settings:
    return load_settings(given or {}, environ=environ or {}, directory=folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.triage]\ntimeout = 60\njobs = 3\nengine = "native"\nformat = ["md"]\nreduce = false\nout = "~/runs"\n'
    )
    return tmp_path


def test_the_defaults_are_those_of_the_contract() -> None:
    assert load() == Settings()
    assert (Settings().timeout, Settings().engine, Settings().accuracy, Settings().reduce) == (
        300.0,
        "auto",
        "auto",
        True,
    )


def test_the_command_line_goes_before_a_variable_before_the_file(project: Path) -> None:
    assert load(folder=project).timeout == 60
    assert load(environ={"TRIAGE_TIMEOUT": "70"}, folder=project).timeout == 70
    assert load({"timeout": 80}, {"TRIAGE_TIMEOUT": "70"}, project).timeout == 80


def test_the_file_is_found_above_the_directory(project: Path) -> None:
    deeper = project / "a" / "b"
    deeper.mkdir(parents=True)
    found = load(folder=deeper)
    assert (found.jobs, found.engine, found.format, found.reduce) == (3, "native", ("md",), False)
    assert found.out == Path.home() / "runs"


def test_only_the_nearest_file_counts(project: Path) -> None:
    deeper = project / "a"
    deeper.mkdir()
    (deeper / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert load(folder=deeper) == Settings()


@pytest.mark.parametrize("text", ["[tool.triage\n", "\xff", "[tool]\ntriage = 3\n"])
def test_a_file_that_cannot_be_read_sets_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="latin-1")
    assert load(folder=tmp_path) == Settings()


@pytest.mark.parametrize(
    ("text", "expected"), [("0", False), ("false", False), ("No", False), ("off", False), ("1", True), ("yes", True)]
)
def test_reduction_is_switched_off_by_a_variable(text: str, expected: bool) -> None:
    assert load(environ={"TRIAGE_REDUCE": text}).reduce is expected
    assert load(environ={"TRIAGE_INCLUDE_DATA": text}).include_data is expected


def test_an_empty_variable_is_none() -> None:
    assert load(environ={"TRIAGE_TIMEOUT": "", "TRIAGE_ENGINE": ""}) == Settings()


def test_formats_are_a_list() -> None:
    assert load({"format": "md, json"}).format == ("md", "json")
    assert load(environ={"TRIAGE_FORMAT": "github"}).format == ("github",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout", "0"),
        ("timeout", "-3"),
        ("timeout", "nan"),
        ("timeout", "soon"),
        ("budget", "-1"),
        ("budget", "nan"),
        ("jobs", "-1"),
        ("jobs", "two"),
        ("engine", "fast"),
        ("accuracy", "maybe"),
        ("format", "pdf"),
        ("format", ","),
        ("reduce", "perhaps"),
    ],
)
def test_a_value_that_does_not_fit_names_its_source(name: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(environ={f"TRIAGE_{name.upper()}": value})
    assert repr(value) in caught.value.what and f"TRIAGE_{name.upper()}" in caught.value.why
    assert caught.value.next and caught.value.exit_code == 2
    with pytest.raises(UsageError, match="command line"):
        load({name: value})


def test_the_file_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.triage]\njobs = [1]\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml"):
        load(folder=tmp_path)


def test_a_name_in_the_file_that_means_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.triage]\ntime-out = 5\n")
    with pytest.raises(UsageError, match="time-out") as caught:
        load(folder=tmp_path)
    assert "timeout" in str(caught.value)


def test_every_setting_reads_its_own_default_and_example() -> None:
    for field in dataclasses.fields(Settings):
        parse, example = field.metadata["parse"], field.metadata["example"]
        assert field.default is None or parse(field.default) == field.default
        assert example == "..." or parse(example) is not None
