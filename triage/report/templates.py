"""Templates: ours, which lie with the package, and one of the user's in the place of the issue's body.

The user's runs in a sandbox: it sees the variables of the table, the filters and our own templates, and calls nothing else.
A variable that does not exist is an error with a place and not an empty text.
"""

from __future__ import annotations

import html
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import jinja2.sandbox

from triage.errors import TriageError, UsageError
from triage.model.text import clip, clip_sentences
from triage.report import markdown, wording
from triage.report.own_faults import in_torch_itself, in_words
from triage.report.redaction_words import redacted_words

# What a template of a report is given, and what each holds. `docs/report.md` has the same table; a test compares them.
VARIABLES = {
    "report": "the tree of `report.json`, by its field names: `report.verdict.stage`",
    "kind": "`bug`, `flaky`, `passes`, `script`, `rounding`, `random`, `unsteady`, `known` or `own`",
    "wanted": "whether PyTorch's maintainers would want it as an issue",
    "title": "the suggested title, plain text",
    "facts": "pairs of a name and Markdown: what fails where",
    "labels": "the suggested labels, as texts",
    "difference": "what makes the reproducer pass, as a diff; empty where that is long or not known",
    "bisection": "the section about releases, for `bisect.md.j2`; none where nothing was bisected",
    "attachments": "the names of the files that may be attached",
    "reproducer": "the text of the reproducer",
    "telling": "the error, from the user's line on",
    "log": "what the failing run printed, from its traceback on",
    "versions": "the output of torch.utils.collect_env",
}
_MARKDOWN = ("prose", "code", "fence", "comment", "one_line")
_WORDING = (
    "ladder_table", "ablation_table", "reproducer_claim", "reproducer_name", "environment_line", "operator_check",
    "ladder_line", "workarounds", "fresh_runs", "shell", "seconds",
)  # fmt: skip
FILTERS: dict[str, Callable[..., Any]] = {
    **{name: getattr(markdown, name) for name in _MARKDOWN},
    **{name: getattr(wording, name) for name in _WORDING},
    "clip": clip,
    "clip_sentences": clip_sentences,
    "own_fault": in_words,
    "in_torch_itself": in_torch_itself,
    "redacted_words": redacted_words,
    "escape_html": html.escape,
}
Render = Callable[[Mapping[str, Any]], str]


def templates_dir() -> Path:
    """Where the templates lie: in the package when installed from a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for place in (package / "templates", package.parent / "templates"):
        if (place / "issue.md.j2").is_file():
            return place
    raise TriageError(
        "The report templates of triage are missing.",
        f"Neither {package / 'templates'} nor {package.parent / 'templates'} holds issue.md.j2.",
        "Install triage again: pip install --force-reinstall torch-triage",
    )


@cache
def _environment() -> jinja2.Environment:
    return furnished(jinja2.Environment(loader=jinja2.FileSystemLoader(templates_dir())), FILTERS)


def template_of(name: str) -> jinja2.Template:
    """A template of ours with the filters of reports."""
    return _environment().get_template(name)


def user_template(file: Path) -> Render:
    """The user's template. Raises UsageError that names file, line and variable where it cannot be used."""
    source = _read(file)
    environment = _sandbox(file, source)
    try:
        tree = environment.parse(source, str(file))
        template = environment.get_template(str(file))
    except jinja2.TemplateSyntaxError as error:
        raise _unusable(file, error.lineno, f"it is no template: {error.message}") from error
    for name in sorted(jinja2.meta.find_undeclared_variables(tree) - VARIABLES.keys()):
        found = (node.lineno for node in tree.find_all(jinja2.nodes.Name) if node.name == name)
        raise _unusable(file, next(found, None), f"there is no variable {name!r}")
    return lambda variables: _rendered(template, file, variables)


def _rendered(template: jinja2.Template, file: Path, variables: Mapping[str, Any]) -> str:
    try:
        return template.render(variables)
    except Exception as error:  # whatever the user's expressions raise is theirs to correct
        raise _unusable(file, _line_in(error, file), str(error) or type(error).__name__) from error


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            f"The template {file} cannot be read.",
            f"{type(error).__name__}: {reason or error}",
            "Name a file that is there: --template FILE, or template in [tool.triage].",
        ) from error


def _sandbox(file: Path, source: str) -> jinja2.Environment:
    """It may include our templates, and no other file."""
    own = jinja2.FunctionLoader(lambda name: (source, str(file), lambda: True) if name == str(file) else None)
    loader = jinja2.ChoiceLoader([own, jinja2.FileSystemLoader(templates_dir())])
    return furnished(jinja2.sandbox.ImmutableSandboxedEnvironment(loader=loader), FILTERS)


def furnished(environment: jinja2.Environment, filters: Mapping[str, Callable[..., Any]]) -> jinja2.Environment:
    """The environment as all templates here have it, with these filters."""
    environment.undefined = jinja2.StrictUndefined
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    environment.filters.update(filters)
    return environment


def _line_in(error: BaseException, file: Path) -> int | None:
    """The line of the template, which jinja2 writes into the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(file)), None)


def _unusable(file: Path, line: int | None, why: str) -> UsageError:
    place = f"{file}, line {line}" if line is not None else str(file)
    return UsageError(
        f"The template {file} cannot be used.",
        f"{place}: {why}.",
        f"Correct it there. Its variables: {', '.join(VARIABLES)} (docs/report.md, Templates).",
    )
