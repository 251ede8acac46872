"""The last polish of a graph's script: what registers its custom operators, made small by the passes over text.

The rest of such a script is printed from the graph, which its own passes have made small, and keeps the shape that the
contract asks for. So only the preamble is edited; a candidate is the whole script as it is printed with another preamble.
"""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Collection
from dataclasses import replace

from triage.judge.asking import StopReductionError
from triage.judge.dimensions import SameDimensions
from triage.judge.judgement import Oracle, RefusedError
from triage.judge.signature import FailureSignature
from triage.model.graphcase import GraphCase
from triage.model.stage import Verdict
from triage.reduce.interface import Engine, NoReduction, Problem, Reduction, SiblingScript
from triage.reduce.printing.kernels import misfit
from triage.reduce.printing.printer import Form, Unprintable, code_lines, count_ops, print_case
from triage.reduce.text.checks.contract import ContractRunner
from triage.reduce.text.checks.guards import words_of
from triage.reduce.text.checks.reached import OwnFailure
from triage.reduce.text.checks.runners import PairedRunner
from triage.reduce.text.code.script import Script, readable
from triage.reduce.text.code.shape import runnable
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.finish.comments import lines_of
from triage.reduce.text.search import Search
from triage.reduce.text.validity import Validity
from triage.trial.cutoff import focused
from triage.trial.driver import Driver
from triage.trial.interface import CandidateRunner, Resources
from triage.trial.share import Limit

SECONDS = 45.0


class Polished:
    """An engine whose result is polished. Costs nothing where the graph has no preamble, or the reduction was cut short."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.name, self.subject = engine, engine.name, engine.subject

    def reduce(self, problem: Problem, resources: Resources) -> Reduction | NoReduction:
        """What the engine found, with the smallest preamble."""
        found = self._engine.reduce(problem, resources)
        if isinstance(found, NoReduction) or found.graph is None or found.enough:
            return found
        start = preamble_of(found.graph)
        if start is None:
            return found
        if not found.complete:
            return replace(found, minimal=False)  # of its preamble nothing was shown
        try:
            return _polished(found, found.graph, start, problem, resources)
        except Exception as error:  # noqa: BLE001  what is longer than it need be is not lost by it
            return replace(found, bug=error)


def _polished(found: Reduction, graph: GraphCase, start: Script, problem: Problem, resources: Resources) -> Reduction:
    """With the smallest preamble, which is `start` so far."""
    form, header = found.form or Form(), _comment_on_top(found.source)
    fits = not misfit(start.text)
    valid = Validity()
    valid.of(Script(found.source))
    limit, began = Limit(resources.budget, SECONDS), time.monotonic()
    runner = _checked(focused(resources.runner, problem.signature), problem, resources.oracle, graph, form, start)
    driver: Driver[Script] = Driver(
        replace(resources, runner=runner, oracle=SameDimensions(resources.oracle), budget=limit),
        lambda script: valid.check(Script(printed(with_preamble(graph, fitting(script, fits)), form, header))).text,
        lambda script, source: {"ops": count_ops(graph), "lines": code_lines(source)},
        rung=problem.rung or None,
    )
    plainly = keeps_its_sense(graph, start, problem.signature)
    interrupted = _searched(
        driver, Search(driver, resources.runner.jobs, limit), start, lines_of(graph.preamble), plainly
    )
    spent = time.monotonic() - began
    return _with_result(replace(found, seconds=found.seconds + spent), graph, driver, interrupted)


def _checked(
    runner: CandidateRunner, problem: Problem, oracle: Oracle, graph: GraphCase, form: Form, start: Script
) -> CandidateRunner:
    """The runner; what the program's own backend raises must hang on what it compiles, as in the reduction of texts."""
    if not graph.backend_code:
        return ContractRunner(runner, problem.signature)
    own = OwnFailure(words_of([start])) if form.check == "exception" else None  # else it is the script's comparison
    return PairedRunner(runner, lambda result: oracle.judge(result).verdict is Verdict.SAME_FAILURE, own=own)


def preamble_of(graph: GraphCase) -> Script | None:
    """The preamble as a script, None where there is none, or where it only imports."""
    try:
        script = Script(tidy(readable("\n".join((*graph.preamble, *_use_of_backend(graph))))))
        only_imports = all(isinstance(node, ast.Import | ast.ImportFrom) for node in script.tree.body)
    except SyntaxError:
        return None
    return None if only_imports else script


def keeps_its_sense(graph: GraphCase, script: Script, signature: FailureSignature) -> bool:
    """Whether code that the program gave to torch may lose statements, but is not to be rewritten.

    A rewritten lowering gives other wrong numbers, and a `raise` without its condition fails for every program: neither is a
    smaller form of the failure.
    """
    raises = any(isinstance(node, ast.Raise | ast.Assert) for node in script.nodes)
    return graph.prepared and (signature.wrong is not None or raises)


def _use_of_backend(graph: GraphCase) -> list[str]:
    """The last statement of a preamble that holds the program's own backend: the passes see that it is used, and how."""
    return [f"torch.compile(backend={graph.backend_code})"] if graph.backend_code else []


def with_preamble(graph: GraphCase, script: Script) -> GraphCase:
    """The graph with these statements as its preamble. Raises RefusedError where the program's own backend is not used so."""
    body, use = script.tree.body, _use_of_backend(graph)
    if use and [ast.unparse(statement) for statement in body[-1:]] != use:
        raise RefusedError("its own backend goes by another name")
    spans = [script.lines_span(statement) for statement in body[: len(body) - len(use)]]
    return replace(graph, preamble=tuple(script.text[start:end].rstrip("\n") for start, end in spans))


def fitting(script: Script, fits: bool) -> Script:
    """The same. Raises RefusedError where a kernel or fake takes other arguments than its operator, as none did before."""
    if fits and (name := misfit(script.text)):
        raise RefusedError(f"a registration for {name} does not take its arguments")
    return script


def printed(graph: GraphCase, form: Form, header: str) -> str:
    """The script of a graph. Raises RefusedError for one that cannot run: so it costs no query."""
    try:
        text = print_case(graph, header=header, form=form)
    except (Unprintable, SyntaxError, ValueError) as error:
        raise RefusedError(str(error)) from None
    return runnable(Script(text)).text


def _searched(driver: Driver[Script], search: Search, start: Script, known: Collection[str], plainly: bool) -> bool:
    """Try what the passes propose, or only (`plainly`) fewer statements. Whether ctrl-C ended it."""
    try:
        with contextlib.suppress(StopReductionError):
            driver.begin("registration")
            if driver.first([start]) is not None and plainly:
                search.fewer_statements(start)
                if search.current.text != start.text:  # what was needed by what has gone
                    search.fewer_statements(search.current)
            elif driver.best is not None:
                search.reduce(start)
                search.polish(known)
    except KeyboardInterrupt:
        return True
    return False


def _with_result(found: Reduction, graph: GraphCase, driver: Driver[Script], interrupted: bool) -> Reduction:
    held = driver.best
    none = () if graph.holds_values else None  # of a text none is made that holds other values
    return replace(
        found,
        source=found.source if held is None else held.source,
        graph=graph if held is None else with_preamble(graph, held.candidate),
        queries=found.queries + driver.queries,
        minimal=found.minimal and not interrupted,
        complete=not interrupted,
        siblings=(*found.siblings, *(SiblingScript(signature, text, none) for signature, text, _ in driver.siblings)),
        interrupted=interrupted,
    )


def _comment_on_top(source: str) -> str:
    """The text of the comment that a script begins with."""
    lines = []
    for line in source.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").removeprefix(" "))
    return "\n".join(lines)
