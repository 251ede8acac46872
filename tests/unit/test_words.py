"""Where triage's options end and the target's words begin, through the real parser."""

from pathlib import Path
from typing import Any

import pytest
import typer

from triage.cli import app as cli
from triage.cli import run as run_command
from triage.cli.words import arrange


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the command function is given for some words; raises what the parser raises."""
    command = typer.main.get_command(cli.app)

    def parse(*words: str) -> dict[str, Any]:
        given: dict[str, Any] = {}
        monkeypatch.setattr(command.commands["run"], "callback", lambda **facts: given.update(facts))
        command.main(args=arrange(command, list(words)), prog_name="triage", standalone_mode=False)
        return given

    return parse


SCRIPTS = [
    (("train.py",), ["train.py"]),
    (("train.py", "--lr", "1"), ["train.py", "--lr", "1"]),
    (("train.py", "--json", "--out", "x", "-q"), ["train.py", "--json", "--out", "x", "-q"]),
    (("train.py", "-m", "pkg"), ["train.py", "-m", "pkg"]),
    (("train.py", "--help"), ["train.py", "--help"]),
    (("train.py", "--", "--x"), ["train.py", "--", "--x"]),
    (("a dir/train.py", ""), ["a dir/train.py", ""]),
    (("-",), ["-"]),
]


@pytest.mark.parametrize(("words", "expected"), SCRIPTS)
def test_everything_after_the_script_is_the_scripts(parsed: Any, words: tuple[str, ...], expected: list[str]) -> None:
    given = parsed("run", *words)
    assert list(given["words"]) == expected
    assert (given["as_json"], given["quiet"], given["out"], given["module"], given["raw"]) == (
        False,
        False,
        None,
        None,
        False,
    )


def test_options_before_the_script_are_ours(parsed: Any) -> None:
    given = parsed("run", "--json", "--timeout", "7", "--out=a b", "-q", "--jobs", "2", "train.py", "--timeout", "9")
    assert (given["as_json"], given["timeout"], given["out"], given["quiet"], given["jobs"]) == (
        True,
        7.0,
        Path("a b"),
        True,
        2,
    )
    assert list(given["words"]) == ["train.py", "--timeout", "9"]


@pytest.mark.parametrize("form", [("-m", "pkg.mod"), ("-mpkg.mod",), ("--module", "pkg.mod"), ("--module=pkg.mod",)])
@pytest.mark.parametrize("arguments", [(), ("--json",), ("x", "--json"), ("-m", "other"), ("--", "x")])
def test_a_module_ends_our_options_as_it_does_pythons(
    parsed: Any, form: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    given = parsed("run", "--timeout", "7", *form, *arguments)
    assert (given["module"], list(given["words"] or []), given["as_json"], given["raw"]) == (
        "pkg.mod",
        list(arguments),
        False,
        False,
    )


@pytest.mark.parametrize(
    "command",
    [
        ("pytest", "tests/test_x.py"),
        ("torchrun", "--nproc-per-node", "2", "train.py", "--json"),
        ("bash", "run.sh"),
        ("python", "-m", "pkg", "--", "x"),
        ("--odd",),
    ],
)
def test_two_dashes_introduce_a_whole_command(parsed: Any, command: tuple[str, ...]) -> None:
    given = parsed("run", "-q", "--", *command)
    assert (given["raw"], list(given["words"]), given["quiet"], given["as_json"]) == (True, list(command), True, False)


@pytest.mark.parametrize("words", [("run",), ("run", "--json"), ("run", "--")])
def test_without_a_target_there_are_no_words(parsed: Any, words: tuple[str, ...]) -> None:
    assert not parsed(*words)["words"]


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--nonsense", "train.py"),
        ("run", "--timeout"),
        ("run", "--timeout", "soon", "train.py"),
        ("rum", "train.py"),
    ],
)
def test_what_cannot_be_parsed_is_the_parsers_error(parsed: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(Exception) as caught:  # the parser's own class, vendored or not
        parsed(*words)
    assert getattr(caught.value, "exit_code", None) == 2


def test_other_commands_are_left_alone() -> None:
    command = typer.main.get_command(cli.app)
    for words in (
        [],
        ["--version"],
        ["report", "triage-out/latest", "-f", "md"],
        ["doctor", "--python", "x"],
        ["--", "run"],
    ):
        assert arrange(command, words) == words


def test_every_value_option_is_known_to_the_arrangement() -> None:
    """An option that takes a value must not make its value look like the script."""
    assert run_command.run.__doc__
    command = typer.main.get_command(cli.app)
    for option in command.commands["run"].params:
        if getattr(option, "is_flag", True) or option.opts[0] in ("-m", "words"):
            continue
        arranged = arrange(command, ["run", option.opts[0], "VALUE", "train.py", "--json"])
        assert arranged == ["run", option.opts[0], "VALUE", "--", "train.py", "--json"]


RESUMED = [
    (("--resume",), "latest", None),
    (("--resume", "--budget", "60"), "latest", None),
    (("-q", "--resume"), "latest", None),
    (("--resume", "triage-out/x"), "triage-out/x", None),
    (("-q", "train.py", "--resume"), None, ["train.py", "--resume"]),
    (("train.py", "--resume", "-x"), None, ["train.py", "--resume", "-x"]),
    (("--", "torchrun", "--resume"), None, ["torchrun", "--resume"]),
]


@pytest.mark.parametrize(("words", "run", "target"), RESUMED)
def test_resume_without_a_run_is_the_latest(
    parsed: Any, words: tuple[str, ...], run: str | None, target: list[str] | None
) -> None:
    given = parsed("run", *words)
    assert (str(given["resume"]) if given["resume"] else None, given["words"] or None) == (run, target)


def test_a_bisection_is_resumed_the_same_way() -> None:
    command = typer.main.get_command(cli.app)
    assert arrange(command, ["bisect", "--resume"]) == ["bisect", "--resume", "latest"]
    assert arrange(command, ["bisect", "--resume", "-q"]) == ["bisect", "--resume", "latest", "-q"]
    assert arrange(command, ["bisect", "--resume", "dir"]) == ["bisect", "--resume", "dir"]
    assert arrange(command, ["bisect", "x.py", "--", "--resume"]) == ["bisect", "x.py", "--", "--resume"]
