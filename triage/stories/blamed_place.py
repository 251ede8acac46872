"""The operation of the program's graphs that a failure is laid to, with its line and the module that does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triage.culprit.operation import guilty_decomposition, operator_name, operators_in
from triage.locate.conclude import Conclusion
from triage.locate.outcomes import is_script_check
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.report import Culprit
from triage.model.stage import Stage
from triage.stories.findings import Findings


def diverging_node(found: Findings) -> GraphNode | None:
    """The operation of the program's own graph where values go wrong."""
    return found.diverging.node if found.diverging is not None else None


def decomposed_node(found: Findings) -> GraphNode | None:
    """The only operation of the reproducer that the guilty decomposition is of: what is raised may come up in a later one."""
    made, search = found.reproduced, found.subsystem
    name = guilty_decomposition(search) if search is not None else None
    if name is None or made is None or made.graph is None:
        return None
    nodes = [node for node in made.graph.nodes if operator_name(node).rstrip("_") == name]
    return nodes[0] if len(nodes) == 1 else None


def line_to_blame(found: Findings) -> str | None:
    """The user's line where values go wrong, in the program's graph or the reproducer's; else of the last operation left."""
    node = _node_to_blame(found)
    return node.where if node is not None else None


def named_operation(conclusion: Conclusion, culprit: Culprit | None) -> str | None:
    """The operation that an error names; else the one to blame, where no line of the traceback stands within what is compiled."""
    named = next(iter(operators_in(conclusion.error)), None)
    return culprit.op if named is None and culprit is not None and is_outside(conclusion) else named


def is_outside(conclusion: Conclusion) -> bool:
    """Whether the lines of the traceback lead to what is compiled, and no further.

    What left a compiled graph that ran knows the head of the function alone; a check of the program's own comes after it.
    """
    error, outcome = conclusion.error, conclusion.outcome
    if error is None or outcome is None:
        return False
    return error.in_graph or (conclusion.stage is not Stage.DYNAMO and is_script_check(outcome))


def with_module(culprit: Culprit | None, found: Findings, line: str | None) -> Culprit | None:
    """The culprit with the module of the program that does the operation on this line, where the graphs tell it.

    A reduction keeps one operation of those that are alike, by chance: how many more modules do the same on that line
    (the other layers of a model) is told with it. Which one goes wrong is known of a wrong value alone.
    """
    if culprit is None or line is None or found.any_operation:
        return culprit
    node = _node_to_blame(found)
    if node is not None and node.where != line:
        return culprit
    if node is not None and node is diverging_node(found):
        return replace(culprit, module=node.module or None)
    if node is not None and node.module:
        alike = _modules(found.cases, line, node.target)
        return replace(culprit, module=node.module, modules_alike=len(alike - {node.module}))
    modules = _modules(found.cases, line)
    return culprit if "" in modules or len(modules) != 1 else replace(culprit, module=modules.pop())


def _node_to_blame(found: Findings) -> GraphNode | None:
    """Where values go wrong, else the last operation that is left in a verified reproducer; one whose line is known.

    None where any operation would do.
    """
    made, diverging = found.reproduced, diverging_node(found)
    if found.any_operation:
        return None
    if diverging is None and found.given_wrong is not None:
        diverging = found.given_wrong.node
    diverging = diverging or found.first_wrong or decomposed_node(found)
    if diverging is not None and diverging.where:
        return diverging
    if made is None or made.graph is None or not made.verified:
        return None
    return next((node for node in reversed(made.graph.nodes) if node.where), None)


def _modules(cases: Sequence[GraphCase], line: str, target: str | None = None) -> set[str]:
    """The modules that do something on this line, or this alone; with an empty one where the program does it in none of them.

    A graph that tells of no module there knows nothing of them.
    """
    found: set[str] = set()
    for case in cases:
        nodes = [each for each in [*case.nodes, *case.nested_nodes] if each.where == line]
        modules = {each.module for each in nodes if target in (None, each.target)}
        found |= modules if any(modules) else set()
    return found
