"""What the failure cannot do without, and what does not matter: each told by a run of the reproducer with one thing changed.

The table of settings and the search of the parts have answered for some; of a graph, a few questions about its data are asked
here. A thing that was varied and changed nothing is told as well. What no run showed is not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from triage.culprit.arguments import WITHOUT_OPTION, WITHOUT_OPTIONS
from triage.culprit.guards import ANEW, GUARDS
from triage.culprit.inquiry import Inquiry
from triage.culprit.ways_round.spellings import CONTIGUOUS, Spelling, in_another_dtype
from triage.judge.judgement import CandidateResult, RefusedError
from triage.model import trees
from triage.model.effects import mutated
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.report import AblationRow, Condition, SubsystemSearch
from triage.reduce.graph.edits import Edit, checked
from triage.reduce.graph.passes import autograd, storage
from triage.reduce.graph.passes.devices import MoveTo, gpu_of
from triage.reduce.graph.passes.dtypes import ChangeDtype
from triage.reduce.graph.passes.extents import Resize
from triage.reduce.graph.passes.fills import filled
from triage.reduce.graph.passes.proposal import ChangeInput, tensors
from triage.reduce.graph.slices import is_floating, prune
from triage.reduce.printing.body import is_random
from triage.reduce.printing.printer import Form, print_if_possible

MOST_EXTENTS = 2
ANOTHER, OTHERS = "another operation", ("torch.tanh", "torch.sin")  # smooth ones that every backend has
ANY_OPERATION = f"the operation (`{OTHERS[0]}` fails as well)"
FIRST = "the size of the first dimension"  # of most programs the batch
_WIDER = {
    False: ("float32", "float64"),
    True: ("complex64", "complex128"),
}  # by whether they are complex; the widest last
# Of another dtype they give another number: with more places the next one is nearer.
_OF_THE_DTYPE = re.compile(r"\bnextafter\b")
_INSTEAD = re.compile(r"It passes with (?P<new>.+) instead of (?P<old>.+)\.")
_WITHOUT = re.compile(r"It passes without (?P<old>the option .+)\.")


@dataclass(frozen=True)
class Question:
    """One thing changed. `ways` are edits that do it, likeliest first. `needed` is told where it passes then, else `varied`.

    `how` is the change in words, where the setting says less. `spelling` does the same to a call of a program. `renamed` are
    the new and the old name of what is changed: the message of the same failure may have the new one in it. `redraws`: a graph
    that draws random numbers draws others then, so it may pass by luck.
    """

    setting: str
    ways: tuple[tuple[Edit, ...], ...]
    needed: str
    varied: str
    how: str = field(default="", kw_only=True)
    spelling: Spelling | None = field(default=None, kw_only=True)
    renamed: tuple[str, str] | None = field(default=None, kw_only=True)
    redraws: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Size(Question):
    """An extent becomes another; what one of them means depends on the answer to the other."""

    extent: int = 0
    other: int = 0
    where: str = ""


@dataclass(frozen=True)
class AnotherOperation:
    """Another function of one tensor in the place of the only operation: of the first floating-point one that it reads."""

    target: str

    @property
    def what(self) -> str:
        return f"{self.target} instead"

    def apply(self, case: GraphCase) -> GraphCase:
        (node,) = case.nodes
        floating = [item for item in tensors(case) if item.meta is not None and is_floating(item.meta.dtype)]
        read = next((item for item in floating if item.name in node.reads), None)
        if read is None or node.target == self.target or mutated(node):
            raise RefusedError("it has no such operand, is that one, or is there for what it changes")
        other = GraphNode(node.name, "call_function", self.target, [trees.ref(read.name)], out=[read.meta])
        return checked(case, prune(replace(case, nodes=(other,), outputs=(trees.ref(node.name),))))


def questions_of(case: GraphCase, form: Form | None = None) -> Iterator[Question]:
    """What is asked of this graph, the most telling first. `form`: how it fails; its operation matters to what it gives."""
    if len(case.nodes) == 1 and (form is None or form.check == "exception"):
        ways = tuple((AnotherOperation(target),) for target in OTHERS)
        yield Question(ANOTHER, ways, "", ANY_OPERATION)
    yield from _devices(case)
    yield from _dtypes(case)
    yield from _sizes(case)
    yield from _layouts(case)
    yield from _values(case)
    yield from _gradients(case)


def _devices(case: GraphCase) -> Iterator[Question]:
    kind = gpu_of(case)
    if kind is not None:
        yield Question(
            f"the CPU instead of {kind}",
            ((MoveTo("cpu"),),),
            f"the device is {kind}",
            "the device (the CPU fails as well)",
        )


def _dtypes(case: GraphCase) -> Iterator[Question]:
    groups: dict[str, list[str]] = {}
    for item in tensors(case):
        assert item.meta is not None
        if is_floating(item.meta.dtype):
            groups.setdefault(item.meta.dtype, []).append(item.name)
    same = not any(_OF_THE_DTYPE.search(node.target) for node in case.nodes)  # what it computes, in a wider dtype
    for dtype, names in groups.items():
        for new in (*_WIDER[dtype.startswith("complex")], *(("float32",) if dtype.startswith("complex") else ())):
            if new != dtype:
                edit = ChangeDtype(frozenset(names), dtype, new)
                yield Question(
                    f"{new} instead of {dtype}",
                    ((edit,),),
                    f"the dtype is {dtype}",
                    f"the dtype ({new} fails as well)",
                    spelling=in_another_dtype(dtype, new) if same and _holds(new, dtype) else None,
                    renamed=(new, dtype),
                )


def _holds(new: str, dtype: str) -> bool:
    """Whether every value of `dtype` is one of `new` too: a program that computes in it loses nothing."""
    wider = _WIDER[dtype.startswith("complex")]
    return new in wider and (dtype not in wider or wider.index(new) > wider.index(dtype))


def _sizes(case: GraphCase) -> Iterator[Question]:
    shapes = [item.meta.shape for item in tensors(case) if item.meta is not None]
    extents = sorted({extent for shape in shapes for extent in shape if extent > 1}, reverse=True)
    for extent in extents[:MOST_EXTENTS]:
        where = _where(shapes, extent)
        for other in (extent - 1, 2 * extent, *((1,) if where == FIRST and extent > 2 else ())):
            sizes = ((extent, other),)
            ways = ((Resize(sizes),), (Resize(sizes, arguments=False),))
            yield Size(
                f"{other} instead of {extent} as {where}", ways, "", f"{where} ({other} fails as well)",
                extent, other, where, redraws=True,
            )  # fmt: skip


def _where(shapes: Sequence[Sequence[int]], extent: int) -> str:
    places = {(place, len(shape)) for shape in shapes for place, size in enumerate(shape) if size == extent}
    if all(place == rank - 1 for place, rank in places):
        return "the size of the last dimension"
    if all(place == 0 for place, _ in places):
        return FIRST
    return "the size that several dimensions share" if len(places) > 1 else "the size of an inner dimension"


def _layouts(case: GraphCase) -> Iterator[Question]:
    edits: list[ChangeInput] = [
        edit for choice in storage.propose(case) for edit in choice.edits if isinstance(edit, ChangeInput)
    ]
    for lazy in dict.fromkeys(item.meta.lazy for item in tensors(case) if item.meta is not None and item.meta.lazy):
        done = [edit for edit in edits if edit.changes == storage.DONE and edit.what == storage.without_lazy(lazy)]
        yield Question(
            f"no lazy {lazy}", (tuple(done),), f"an input is a lazy {lazy}", f"that an input is a lazy {lazy}"
        )
        edits = [edit for edit in edits if edit not in done]
    if edits:
        of_strides = all(edit.changes[0][0] == "meta.stride" for edit in edits)
        told = ", ".join(edit.what for edit in edits)
        yield Question(
            "contiguous inputs",
            (tuple(edits),),
            "the strides or the storage of the inputs",
            "strides and storage",
            how=told,
            spelling=CONTIGUOUS if of_strides else None,
        )


def _values(case: GraphCase) -> Iterator[Question]:
    asked = [
        item
        for item in tensors(case)
        if item.gradient_of is None and item.meta is not None and is_floating(item.meta.dtype)
        if item.meta.lazy != "zero"  # it has no values
    ]
    # Integers and masks keep what they hold: drawn ones are indices out of range and labels that do not exist.
    kept = any(item.meta is not None and not is_floating(item.meta.dtype) for item in tensors(case))
    inputs = "floating-point inputs" if kept else "inputs"
    values = f"the values of the {inputs}"
    random = [item.name for item in asked if item.fill != "randn"]
    if random:
        edits = tuple(filled(name, "randn") for name in random)
        yield Question("random values", (edits,), values, f"{values} (random ones fail as well)", redraws=True)
    elif asked:
        edits = tuple(filled(item.name, "ones") for item in asked)
        told = f"the {inputs} are not all ones", f"{values} (ones fail as well)"
        yield Question("ones as values", (edits,), *told, redraws=True)


def _gradients(case: GraphCase) -> Iterator[Question]:
    if case.backward or not case.learns:
        return
    edits = tuple(choice.edits[0] for choice in autograd.propose(case))
    if edits:
        yield Question("no input requires grad", (edits,), "an input requires grad", "whether the inputs require grad")


@dataclass(frozen=True)
class Answered:
    """What the questions about the data of a graph have shown; `rows` are for the table of settings."""

    rows: tuple[AblationRow, ...]
    conditions: tuple[Condition, ...]
    indifferent: tuple[str, ...]
    spellings: tuple[Spelling, ...]  # with which it passes
    any_operation: bool = False  # whether it fails with another one in the place of the only one


def ask(case: GraphCase, form: Form | None, inquiry: Inquiry) -> Answered:
    """Ask them of a graph that fails."""
    questions = list(questions_of(case, form))
    answers: dict[Question, AblationRow] = {}
    for way in range(max((len(question.ways) for question in questions), default=0)):
        texts = {
            question: text
            for question in questions
            if way < len(question.ways) and answers.get(question, _NONE).outcome not in ("ok", "same_failure")
            if (text := _printed(case, question.ways[way], form)) is not None
        }
        if not texts or inquiry.budget.spent():
            break
        asked = list(texts)
        for index, result in inquiry.run_many([*texts.values()], inquiry.rung):
            question = asked[index]
            answers[question] = inquiry.row(question.setting, _named_as_before(result, question.renamed))
    rows = tuple(answers[question] for question in questions if question in answers)
    outcomes = {question: row.outcome for question, row in answers.items()}
    if form is not None and form.compares_values and any(map(is_random, case.nodes)):
        outcomes = {
            question: outcome for question, outcome in outcomes.items() if outcome != "ok" or not question.redraws
        }
    spellings = [each.spelling for each, outcome in outcomes.items() if outcome == "ok" and each.spelling is not None]
    gentle_first = sorted(spellings, key=lambda spelling: spelling.rounds)
    unspecific = any(each.setting == ANOTHER and outcome == "same_failure" for each, outcome in outcomes.items())
    return Answered(rows, tuple(needed(outcomes)), tuple(varied(outcomes)), tuple(gentle_first), unspecific)


_NONE = AblationRow("", "not_run")


def _named_as_before(result: CandidateResult, renamed: tuple[str, str] | None) -> CandidateResult:
    """The result as if its failure, by which it is known, named what it named before the change."""
    found = result.signature
    if found is None or renamed is None:
        return result
    new, old = renamed
    return replace(result, signature=replace(found, skeleton=re.sub(rf"\b{new}\b", old, found.skeleton)))


def _printed(case: GraphCase, edits: Sequence[Edit], form: Form | None) -> str | None:
    with suppress(RefusedError):
        for edit in edits:
            case = edit.apply(case)
        return print_if_possible(case, form=form)
    return None


def needed(outcomes: dict[Question, str]) -> Iterator[Condition]:
    """The conditions that answers about the data show."""
    for question, outcome in outcomes.items():
        if isinstance(question, Size):
            yield from _bound(question, outcome, outcomes)
        elif outcome == "ok" and question.needed:
            yield Condition(question.needed, f"{question.how or f'with {question.setting}'} it passes")


def _bound(question: Size, outcome: str, outcomes: dict[Question, str]) -> Iterator[Condition]:
    """What a size must be, told with what the other sizes did: no bound that another one implies, or that one of them breaks."""
    if outcome != "ok":
        return
    sizes = {
        each.other: answer
        for each, answer in outcomes.items()
        if isinstance(each, Size) and each.extent == question.extent
    }
    size, extent, where = question.other, question.extent, question.where
    if size > extent:
        yield Condition(f"{where} is less than {size}", f"with {size} it passes")
        return
    if any(size < other < extent and sizes[other] == "ok" for other in sizes):
        return  # that one is the nearer bound
    failing = [other for other, answer in sizes.items() if answer == "same_failure"]
    below, above = [other for other in failing if other < size], [other for other in failing if other > extent]
    if below:
        told = f"with {size} it passes, with {', '.join(map(str, sorted(failing)))} it fails as well"
        yield Condition(f"{where} is not {size}", told)
    elif above and size == extent - 1:
        told = f"with {size} it passes, with {above[0]} it fails as well"
        yield Condition(f"{where} is at least {extent}", told)
    else:
        yield Condition(f"{where} is more than {size}", f"with {size} it passes")


def varied(outcomes: dict[Question, str]) -> Iterator[str]:
    """What was changed without effect. A size that has a bound on either side does matter."""
    bounded = {
        question.extent for question, outcome in outcomes.items() if isinstance(question, Size) and outcome == "ok"
    }
    for question, outcome in outcomes.items():
        if outcome == "same_failure" and not (isinstance(question, Size) and question.extent in bounded):
            yield question.varied


def of_settings(case: GraphCase | None, rows: Sequence[AblationRow]) -> tuple[tuple[Condition, ...], tuple[str, ...]]:
    """(conditions, what does not matter) that the table of settings shows."""
    outcome = {row.setting: row.outcome for row in rows}
    conditions = _of_options([row.setting for row in rows if row.outcome == "ok"])
    indifferent: list[str] = []
    shapes = [outcome.get("dynamic=True"), outcome.get("dynamic=False")]
    if shapes == ["same_failure", "ok"]:
        conditions.append(Condition("the shapes are dynamic", "with dynamic=False it passes"))
    elif shapes == ["ok", "same_failure"]:
        conditions.append(Condition("the shapes are static", "with dynamic=True it passes"))
    elif shapes == ["same_failure", "same_failure"]:
        indifferent.append("whether the shapes are dynamic")
    if outcome.get("fullgraph=True") == "ok":
        conditions.append(Condition("graph breaks are allowed", "with fullgraph=True it passes"))
    mode = case.context.mode if case is not None else None
    if mode is not None and outcome.get('mode="default"') == "ok":
        conditions.append(Condition(f'mode="{mode}"', "with the default mode it passes"))
    if outcome.get("forward only") == "ok":
        conditions.append(Condition("a backward pass", "forward only, it passes"))
    if outcome.get("under torch.no_grad()") == "ok" and outcome.get("forward only") != "ok":
        conditions.append(Condition("gradients are enabled", "under torch.no_grad() it passes"))
    elif outcome.get("under torch.no_grad()") == "same_failure":
        indifferent.append("whether gradients are enabled")
    if outcome.get("with backward") == "same_failure":
        indifferent.append("whether a backward pass follows")
    if outcome.get("fullgraph=False") == "ok":
        conditions.append(Condition("fullgraph=True", "with fullgraph=False it passes"))
    return tuple(conditions), tuple(indifferent)


def _of_options(passes: Sequence[str]) -> list[Condition]:
    """The options of torch.compile that it needs; `passes` are the settings with which it passes."""
    alone = [setting.removeprefix(WITHOUT_OPTION) for setting in passes if setting.startswith(WITHOUT_OPTION)]
    if not alone and WITHOUT_OPTIONS.text in passes:
        return [Condition("one of the options of torch.compile", "without any it passes")]
    return [Condition(f"the option {name}", "without it it passes") for name in alone]


def of_parts(search: SubsystemSearch | None) -> tuple[Condition, ...]:
    """The parts of the compiler that it needs."""
    if search is None:
        return ()
    if search.names == (GUARDS,):
        return (Condition("a graph that an earlier call compiled is used again", f"{ANEW} it passes"),)
    return tuple(Condition(f"the compiler's {name}", f"with {name} switched off it passes") for name in search.names)


def of_neighbour(difference: str | None, known: Sequence[Condition]) -> tuple[Condition, ...]:
    """What the nearest variant that passes shows, unless a condition says it already."""
    found = _INSTEAD.fullmatch(difference or "") or _WITHOUT.fullmatch(difference or "")
    if found is None or any(found["old"] in f"{each.condition} {each.shown_by}" for each in known):
        return ()
    new = found.groupdict().get("new")
    return (Condition(found["old"], f"with {new} instead it passes" if new else "without it it passes"),)


def merged(*lists: Sequence[Condition]) -> tuple[Condition, ...]:
    """One after another, each condition once."""
    return tuple({each.condition: replace(each) for one in lists for each in one}.values())
