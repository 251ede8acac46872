"""The rungs are written once; what must know some of them elsewhere agrees with the table."""

import ast
from pathlib import Path

from triage.agent.hooks import boundary, doors
from triage.locate.doors import _ENTRANCES
from triage.model.rungs import BACKENDS, DEFAULT_BACKEND, LADDER, UNCOMPILED, backend_of, in_place_of, knows_modes

ROOT = Path(__file__).parents[2] / "triage"
TABLE = ROOT / "model" / "rungs.py"
AGENT = ROOT / "agent" / "hooks" / "boundary.py"  # a world of its own; compared below


def lists_of_rungs(file: Path) -> list[str]:
    """Displays with two rungs in them or more."""
    displays = (ast.Tuple, ast.List, ast.Set, ast.Dict)
    found = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, displays)]
    return [f"{file.name}:{node.lineno}" for node in found if len(BACKENDS_ALONE & constants(node)) > 1]


def constants(node: ast.AST) -> set[object]:
    return {item.value for item in ast.iter_child_nodes(node) if isinstance(item, ast.Constant)}


BACKENDS_ALONE = {name for name in BACKENDS if name != "eager"}  # a word of its own, too


def test_the_rungs_are_listed_once():
    found = [place for file in ROOT.rglob("*.py") if file not in (TABLE, AGENT) for place in lists_of_rungs(file)]
    assert found == []
    assert lists_of_rungs(AGENT)  # the search finds what there is to find


def test_the_agent_takes_no_rung_for_a_backend_of_the_users():
    assert set(boundary.BUILT_IN) <= set(BACKENDS)
    assert UNCOMPILED.force == boundary.UNCOMPILED


def test_the_lowest_rung_is_no_compiler_and_the_default_is_the_highest():
    assert LADDER[0] is UNCOMPILED and LADDER[-1].name == DEFAULT_BACKEND
    assert len({rung.name for rung in LADDER}) == len(LADDER)


def test_modes_are_inductors():
    assert [name for name in BACKENDS if knows_modes(name)] == [DEFAULT_BACKEND]
    assert not knows_modes(None) and not knows_modes("a backend of one's own")


def test_only_backends_are_told_to_scripts():
    assert [backend_of(rung.name) for rung in LADDER] == [None, *BACKENDS]
    assert backend_of(None) is None and backend_of(in_place_of("torch.export")) is None


def test_each_door_that_is_known_can_be_replaced():
    assert all(doors.patches(doors.named(in_place_of(door))) for _, door in _ENTRANCES)
    assert doors.named("inductor") is None and doors.named(None) is None
