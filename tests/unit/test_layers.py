"""Imports flow one way.

cli -> stories -> {locate, culprit, reduce, bisect, explain, report}
    -> trial -> session -> environments -> probe -> judge -> model

Read from the source, not from a running interpreter, so that an import inside a function counts too.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2] / "triage"

# What a room may import besides itself and the standard library.
BASE = {"errors", "model", "judge"}
GROUND = BASE | {"probe", "environments", "session"}
PURE = {"model", "judge", "reduce.interface", "reduce.printing"}  # what an engine's passes and searches may know
TRYING = PURE | {"trial"}  # and what has them tried
ENGINES = {"reduce.graph", "reduce.text", "reduce.minifier"}
REDUCE = {"reduce", "reduce.interface", "reduce.graph.engine", "reduce.printing", *ENGINES}
# The families of the text engine: of each what is pure, then its files that are not.
FAMILIES = {
    f"reduce.text.{name}" for name in ("code", "watching", "starts", "data", "passes", "validity", "checks", "finish")
}
RUNNERS = {
    f"reduce.text.{name}" for name in ("watching.tracing", "checks.contract", "checks.unwritten", "checks.runners")
}
TEXT = FAMILIES | RUNNERS | {f"reduce.text.{name}" for name in ("engine", "reducing", "polish")}
MAY_IMPORT = {
    "model": set(),
    "errors": set(),
    "judge": {"model"},
    "probe": BASE,
    "environments": BASE | {"probe", "environments.files"},
    "environments.files": set(),  # the standard library alone, so that everybody may write a file whole
    "session": BASE | {"probe", "environments", "environments.files"},
    "trial": GROUND,
    "locate": GROUND,
    "reduce": GROUND | {"trial", "reduce.interface", "reduce.printing", "reduce.graph"},
    "reduce.interface": {"model", "judge", "trial", "reduce.printing"},
    "reduce.printing": {"model"},
    "reduce.graph": PURE,
    "reduce.graph.engine": TRYING | {"reduce.graph"},
    "reduce.minifier": TRYING | {"probe"},
    "reduce.text": PURE | {"reduce.text.code", "reduce.text.passes", "reduce.text.finish"},  # the search
    "reduce.text.code": {"model", "judge"},
    "reduce.text.watching": {"model", "judge"},
    "reduce.text.watching.tracing": {"model", "probe", "reduce.text.watching"},
    "reduce.text.starts": {"model", "reduce.printing", "reduce.text.code", "reduce.text.watching"},
    "reduce.text.data": {"model", "judge", "reduce.text.code", "reduce.text.watching", "reduce.text.starts"},
    "reduce.text.passes": {"model", "reduce.text.code"},
    "reduce.text.validity": {"model", "judge", "reduce.printing", "reduce.text.code"},
    "reduce.text.checks": {"model", "judge", "reduce.text.code"},
    "reduce.text.checks.contract": TRYING | {"probe", "reduce.text.code"},
    "reduce.text.checks.unwritten": TRYING | {"probe", "reduce.text.code"},
    "reduce.text.checks.runners": TRYING
    | {"probe", "reduce.text.checks", "reduce.text.checks.contract", "reduce.text.checks.unwritten"},
    "reduce.text.finish": {"model", "judge", "reduce.text.code"},
    "reduce.text.reducing": TRYING | FAMILIES | {"reduce.text"},
    "reduce.text.polish": TRYING | RUNNERS | {"reduce.text"} | FAMILIES - {"reduce.text.starts", "reduce.text.data"},
    "reduce.text.engine": TRYING | TEXT | {"reduce.text", "probe"},  # the program is run once more, to see what it does
    "culprit": GROUND
    | {"trial", "locate", "reduce.printing", "reduce.text.code", "reduce.graph"},  # told once both have ended
    "bisect": GROUND | {"environments.files"},
    "explain": BASE,
    "sweep": BASE,
    "sweep.store": BASE | {"environments.files", "sweep"},
    "sweep.engines": BASE | {"probe"},
    "report": BASE | {"environments.files"},
    "stories": GROUND
    | {"environments.files"}
    | {
        "trial",
        "locate",
        "culprit",
        "bisect",
        "explain",
        "report",
        "sweep",
        "sweep.store",
        "sweep.engines",
        *REDUCE,
        *TEXT,
    },
    "cli": GROUND | {"trial", "locate", "reduce", "bisect", "report", "stories", "sweep.engines"},
    "api": GROUND | {"environments.files", "bisect", "report", "stories"},
    "testing": {"api"},
    "": {"api"},  # `triage.run` and its like, when they are first used
    "agent": set(),
}

# The rooms of the agent, which is flat otherwise: boot.py, whose.py, compat and the way in (site).
AGENT_MAY_IMPORT = {
    "warm": {"hooks", "capture"},
    "hooks": {"compare", "capture", "explain", "trace"},
    "compare": {"capture"},
    "programs": {"capture"},
    "capture": set(),
    "explain": set(),
    "trace": {"capture"},
}

# Distributions and the rooms that may use them. torch is for the agent alone.
THIRD_PARTY = {
    "typing_extensions": {"locate"},  # for the type checker alone: Python 3.10 has no `Unpack`
    "torch": {"agent"},
    "torchgen": {"agent"},
    "typer": {"cli"},
    "rich": {"cli"},
    "jinja2": {"report"},
    "markupsafe": {"report"},  # the escaped text of jinja2
    "git": {"bisect", "report"},
    "packaging": {"bisect", "environments", "probe", "report", "stories"},
    "platformdirs": {"environments"},
    "tomli": {"environments", "session", "sweep"},
    "ray": {"sweep.engines"},
    "submitit": {"sweep.engines"},
    "pytest": {"testing"},
}

# What the command line may import before it knows which command is wanted.
AT_START = ("triage.cli", "triage.errors", "triage.model.formats", "triage.model.places", "triage.session.events")


class Import(NamedTuple):
    file: Path
    line: int
    module: str  # absolute: triage.model.codec, torch.fx
    level: int
    lazy: bool  # inside a function, or for type checkers only

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT.parent)}:{self.line}: {self.module}"


def room_of(file: Path) -> str:
    path = file.relative_to(ROOT).with_suffix("")
    return "cli" if path.name == "__main__" else room_named(".".join(["triage", *path.parts]))


def room_named(module: str) -> str:
    """The innermost room of `triage.model.codec`; of `triage` itself, the package without a room, an empty string."""
    parts = module.split(".")[1:]
    if not parts or parts[0].startswith("__"):
        return ""
    inside = (".".join(parts[:depth]) for depth in range(len(parts), 0, -1))
    return next((name for name in inside if name in MAY_IMPORT), "")


def imports_of(file: Path) -> Iterator[Import]:
    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or _for_checkers_only(child)
            if isinstance(child, ast.Import):
                for name in child.names:
                    yield Import(file, child.lineno, name.name, 0, lazy)
            elif isinstance(child, ast.ImportFrom) and child.level:
                for module in [child.module] if child.module else [name.name for name in child.names]:
                    yield Import(file, child.lineno, module, child.level, lazy)
            elif isinstance(child, ast.ImportFrom):
                # `from triage import probe` imports the module triage.probe, `from torch import nn` torch
                for module in dict.fromkeys(_named(child.module or "", name.name) for name in child.names):
                    yield Import(file, child.lineno, module, 0, lazy)
            yield from walk(child, inside)

    yield from walk(ast.parse(file.read_text(encoding="utf-8")), False)


def _named(module: str, name: str) -> str:
    """`module.name` where that is a module of ours, else `module`."""
    path = ROOT.parent.joinpath(*module.split("."), name)
    return f"{module}.{name}" if path.is_dir() or path.with_suffix(".py").is_file() else module


def _for_checkers_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


FILES = sorted(ROOT.rglob("*.py"))
IMPORTS = [found for file in FILES for found in imports_of(file)]
OURS = [found for found in IMPORTS if room_of(found.file) != "agent"]
AGENT = [found for found in IMPORTS if room_of(found.file) == "agent"]


def test_the_rooms_exist():
    rooms = {room_of(file) for file in FILES}
    assert rooms | {""} == set(MAY_IMPORT)


def test_the_root_holds_rooms():
    assert {file.stem for file in ROOT.glob("*.py")} == {"__init__", "__main__", "errors"}


def test_the_package_itself_loads_nothing():
    assert [str(found) for found in IMPORTS if found.file == ROOT / "__init__.py" and not found.lazy] == [
        str(found)
        for found in IMPORTS
        if found.file == ROOT / "__init__.py" and found.module in ("__future__", "typing")
    ]


def test_imports_flow_one_way():
    against = [
        str(found)
        for found in OURS
        if found.module.split(".")[0] == "triage"
        and room_named(found.module) not in {"", room_of(found.file), *MAY_IMPORT[room_of(found.file)]}
    ]
    assert against == []


def files_imported(found: Import) -> Iterator[Path]:
    """The file that an import names, if it is one of ours."""
    if found.level:
        home = found.file.parents[found.level - 1]
    elif found.module.split(".")[0] == "triage":
        home = ROOT.parent
    else:
        return
    path = home.joinpath(*found.module.split("."))
    yield from (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file())


def test_no_two_files_need_each_other():
    files = [file for file in FILES if file != ROOT / "__init__.py"]  # it needs nothing: it names the API for others
    needs = {
        file: {other for found in IMPORTS if found.file == file for other in files_imported(found)} for file in files
    }
    while free := {file for file, others in needs.items() if not others & needs.keys()}:
        needs = {file: others for file, others in needs.items() if file not in free}
    assert [str(file.relative_to(ROOT)) for file in needs] == []


def test_engines_do_not_know_each_other():
    crossing = [
        str(found)
        for found in OURS
        for engine in ENGINES
        if found.file.is_relative_to(ROOT / engine.replace(".", "/"))
        and any(f"triage.{other}." in f"{found.module}." for other in ENGINES - {engine})
    ]
    assert crossing == []


def test_every_third_party_import_is_where_it_may_be():
    own = {"triage", "tomllib", *sys.stdlib_module_names}  # of Python 3.11 and newer is tomllib
    foreign = [found for found in OURS if found.module.split(".")[0] not in own]
    misplaced = [
        str(found) for found in foreign if room_of(found.file) not in THIRD_PARTY.get(found.module.split(".")[0], ())
    ]
    assert misplaced == []


def test_orchestrator_imports_are_absolute():
    assert [str(found) for found in OURS if found.level] == []


def test_trees_are_made_in_one_place():
    """By one thread at a time (triage/model/syntax.py); the agent, which starts no thread, parses by itself."""
    parses = [
        f"{file.relative_to(ROOT.parent)}:{node.lineno}"
        for file in FILES
        if room_of(file) != "agent" and file != ROOT / "model" / "syntax.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "ast.parse"
    ]
    assert parses == []


def test_the_agent_knows_the_standard_library_torch_and_itself():
    known = {"torch", "torchgen", "_triage_agent", *sys.stdlib_module_names}
    assert [str(found) for found in AGENT if not found.level and found.module.split(".")[0] not in known] == []


def test_rooms_of_the_agent_import_one_way():
    agent = ROOT / "agent"
    against = []
    for found in (each for each in AGENT if each.level):
        room = found.file.relative_to(agent).parts[0]
        above = found.module.split(".")[
            0
        ]  # of `from ..capture.graph import`; a neighbour's name where there is one dot
        if found.level == 2 and above not in {"compat", "whose", *AGENT_MAY_IMPORT[room]}:
            against.append(str(found))
    assert against == []


def test_the_agent_imports_torch_when_it_is_asked_to():
    # it is loaded before the user's program imports torch, and must not do so in its place
    assert [str(found) for found in AGENT if found.module.split(".")[0] == "torch" and not found.lazy] == []


def test_commands_import_their_work_when_they_run():
    eager = [found for found in OURS if room_of(found.file) == "cli" and not found.lazy]
    allowed = {"typer", "triage", *sys.stdlib_module_names}
    early = [
        str(found)
        for found in eager
        if found.module.split(".")[0] not in allowed
        or (found.module.startswith("triage.") and not found.module.startswith(AT_START))
    ]
    assert early == []


def test_an_import_inside_a_function_is_seen_and_lazy(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("import json\ndef f():\n    from triage import probe\n    from torch import nn\n")
    assert [(found.module, found.lazy) for found in imports_of(file)] == [
        ("json", False),
        ("triage.probe", True),
        ("torch", True),
    ]


@pytest.mark.parametrize(
    ("module", "room"),
    [
        ("triage", ""),
        ("triage.__version__", ""),
        ("triage.model.codec", "model"),
        ("triage.stories.run", "stories"),
        ("triage.reduce.choose", "reduce"),
        ("triage.reduce.printing.names", "reduce.printing"),
        ("triage.cli.app", "cli"),
    ],
)
def test_a_module_has_one_room(module, room):
    assert room_named(module) == room
