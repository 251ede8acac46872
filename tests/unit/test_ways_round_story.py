"""Which changes are tried in which order, what they cost in words, and where a line stands."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from triage.cli.view import plain_line
from triage.culprit.settings import Setting
from triage.culprit.ways_round.changes import Change, Program
from triage.culprit.ways_round.cost import cost_in_words
from triage.culprit.ways_round.source import Source
from triage.judge.signature import signature_of
from triage.locate.conclude import Conclusion
from triage.model.graphcase import GraphNode
from triage.model.outcome import AgentNotes, CompileCall, Frame, Outcome, RaisedException, Steps
from triage.model.report import WayRound
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.probe.run import Probe
from triage.session.events import Event
from triage.stories.spots import Files, traced_lines
from triage.stories.ways_judged import has_compiled, leads_round, owed_to_less, was_late, what_to_say
from triage.stories.ways_planned import parted, plan, planned, unasked
from triage.stories.ways_round import _Trials

FILE = Path("/program/train.py")


def changes(kind: str, *texts: str) -> Iterator[Change]:
    return (Change(kind, f"{kind} {text}", None, {FILE: text.encode()}, {FILE: b""}) for text in texts)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ((("a", "b"), ("c",), ("d",), ("e",)), ["setting a", "call c", "function d", "backend e"]),
        (((), ("c", "f"), ("d",), ("e",)), ["call c", "function d", "call f", "backend e"]),
        (((), ("c", "f", "g", "h", "i"), (), ()), ["call c", "call f", "call g", "call h"]),
        ((("a",), ("a",), (), ("e",)), ["setting a", "backend e"]),
        ((("a",), (), ("d",), ("e", "f", "g")), ["setting a", "function d", "backend e", "backend f"]),
        (((), (), (), ()), []),
    ],
)
def test_one_of_each_kind_the_cheapest_first_and_the_last_resort_last(
    groups: tuple[tuple[str, ...], ...], expected: list[str]
):
    kinds = ("setting", "call", "function", "backend")
    found = planned([changes(kind, *texts) for kind, texts in zip(kinds, groups, strict=True)])
    assert [change.words for change in found] == expected


def test_what_comes_after_an_awaited_change_is_not_run_beside_it():
    plain, *others = [*changes("argument", "a"), *changes("call", "b", "c")]
    plain = replace(plain, awaited=True)
    assert parted([plain, *others], 2) == ([plain], others)
    assert parted([others[0], plain, others[1]], 3) == ([others[0], plain], others[1:])
    assert parted(others, 2) == (others, [])


RAN = AgentNotes(graphs=3, steps=Steps(calls=9, call=0.0041, backwards=9, backward=0.012))
EAGER = AgentNotes(steps=Steps(calls=9, call=0.02, backwards=4, backward=0.5))


@pytest.mark.parametrize(
    ("changed", "uncompiled", "words"),
    [
        (RAN, EAGER, "a step takes 16 ms; uncompiled 20 ms"),
        (RAN, None, "a step takes 16 ms; uncompiled not measured"),
        (
            AgentNotes(graphs=3),
            EAGER,
            "time not measured: too few calls of compiled functions that did not mostly wait",
        ),
        (AgentNotes(graphs=0), EAGER, "nothing is compiled any more"),
        (
            AgentNotes(graphs=1, stopped_early=True),
            None,
            "time not measured: too few calls of compiled functions that did not mostly wait; "
            "the run was ended when it was well past the point of the failure",
        ),
    ],
)
def test_the_cost_is_what_was_measured(changed: AgentNotes, uncompiled: AgentNotes | None, words: str):
    assert cost_in_words(changed, uncompiled) == words


def test_steps_before_the_failure_show_what_compiling_gives():
    failing = AgentNotes(graphs=3, steps=Steps(calls=20, call=0.003, backwards=20, backward=0.008))
    told = cost_in_words(RAN, EAGER, failing)
    assert told == "a step takes 16 ms; uncompiled 20 ms; as it is, before it fails, 11 ms"
    assert cost_in_words(AgentNotes(graphs=3), EAGER, failing) == cost_in_words(AgentNotes(graphs=3), EAGER)


@pytest.mark.parametrize(
    ("kind", "ended", "graphs", "calls", "leads"),
    [
        ("setting", OutcomeKind.OK, 1, 1, True),
        ("setting", OutcomeKind.OK, 0, 1, False),  # it has switched the compiler off
        ("call", OutcomeKind.OK, 0, 1, True),  # the call was all of the function
        ("call", OutcomeKind.OK, 0, 0, False),  # the program went on from its checkpoint, and had nothing left to do
        ("function", OutcomeKind.OK, 0, 0, True),  # nothing is compiled there any more
        ("call", OutcomeKind.EXCEPTION, 1, 1, False),
        ("backend", OutcomeKind.HANG, 1, 1, False),
    ],
)
def test_what_leads_round_a_failure(kind: str, ended: OutcomeKind, graphs: int, calls: int, leads: bool):
    assert leads_round(kind, ended, AgentNotes(graphs=graphs, calls=calls)) is leads


def files_of(folder: Path, *frames: Frame) -> Files:
    raised = RaisedException("E", "m", frames=frames)
    probe = SimpleNamespace(notes=SimpleNamespace(raised=(raised,)))
    found = SimpleNamespace(
        target=SimpleNamespace(cwd=folder, script=folder / "train.py", python=str(folder / "env" / "bin" / "python")),
        walk=SimpleNamespace(seen={"inductor": [probe]}),
    )
    return Files(found)


def test_a_line_is_found_by_the_name_of_its_file_and_what_stands_there(tmp_path: Path):
    for name in ("train.py", "old/net.py", "pkg/net.py", ".venv/net.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("import torch\n\nx = 1\n")
    (tmp_path / "pkg" / "net.py").write_text("import torch\ny = torch.relu(x)\n")
    files = files_of(tmp_path)
    spot = files.spot("net.py:2 in forward: y = torch.relu(x)", ("relu",))
    assert (spot.path, spot.line, spot.told) == (tmp_path / "pkg" / "net.py", 2, "net.py:2")
    assert files.spot("net.py:2 in forward: y = torch.tanh(x)", ()) is None
    assert files.spot("gone.py:2 in forward", ()) is None


def test_a_file_of_the_traceback_comes_first(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "program").mkdir()
    elsewhere.mkdir()
    (tmp_path / "program" / "train.py").write_text("\n")
    (elsewhere / "net.py").write_text("import torch\ny = torch.relu(x)\n")
    files = files_of(tmp_path / "program", Frame(str(elsewhere / "net.py"), 2, "forward"))
    spot = files.spot("net.py:2 in forward: y = torch.relu(x)", ())
    assert spot.path == elsewhere / "net.py"


def test_where_nothing_names_a_line_the_functions_that_dynamo_went_into_do(tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n\ndef touch(x):\n    return x\n\ndef step(x):\n    return touch(x).sin()\n\ntorch.compile(step)\n"
    )
    files = files_of(tmp_path)
    node = GraphNode("sin", "call_function", "torch.sin", where="train.py:7 in step: return touch(x).sin()")
    call = CompileCall(None, name="step", where="train.py:9")
    walk = SimpleNamespace(start=SimpleNamespace(notes=AgentNotes(compile_calls=(call,))), seen={})
    found = SimpleNamespace(cases=(SimpleNamespace(nodes=(node,)),), walk=walk)
    spots = traced_lines(found, files)
    assert [(spot.path.name, spot.line) for spot in spots] == [("train.py", 4), ("train.py", 7)]


def run_of_script(kind: OutcomeKind, graphs: int, on: str = "script") -> Probe:
    return SimpleNamespace(outcome=Outcome(kind), notes=AgentNotes(graphs=graphs), on=on)


@pytest.mark.parametrize(
    ("probe", "compiled"),
    [
        (run_of_script(OutcomeKind.OK, 2), True),
        (run_of_script(OutcomeKind.OK, 0), False),  # uncompiled
        (run_of_script(OutcomeKind.EXCEPTION, 2), False),  # how long the rest takes is not known
        (run_of_script(OutcomeKind.OK, 2, on="graph"), False),
    ],
)
def test_what_a_compile_takes_is_known_by_a_run_of_the_script_that_passed(probe: Probe, compiled: bool):
    assert has_compiled({"as_is": [run_of_script(OutcomeKind.EXCEPTION, 0)], "eager": [probe]}) is compiled


@pytest.mark.parametrize("still", [True, False])
def test_a_change_with_which_the_script_stands_still_as_before_is_in_vain(still: bool) -> None:
    trials: Any = object.__new__(_Trials)
    trials._expected = frozenset()
    outcome = Outcome(OutcomeKind.HANG, late=still, still=still)
    probe: Any = SimpleNamespace(outcome=outcome, notes=AgentNotes(), on="script", cancelled=False, signature=None)
    assert (trials._fails_still(probe), was_late(probe)) == (still, not still)


@pytest.mark.parametrize(("compiled", "limit"), [(True, 60.0), (False, 120.0)])
def test_a_cold_compile_has_time_and_a_run_to_measure_is_no_longer_for_it(compiled: bool, limit: float):
    asked: list[tuple[float, float]] = []

    def ask(rung: object, name: str, texts: object, limit: float, enough: float, comparison: object) -> Probe:
        asked.append((limit, enough))
        return run_of_script(OutcomeKind.HANG, 0)

    told: list[bool] = []
    seen = {"eager": [run_of_script(OutcomeKind.OK, int(compiled))]}
    notes = SimpleNamespace(backwards=0)
    walk = SimpleNamespace(
        seen=seen,
        start=SimpleNamespace(notes=notes),
        ask_changed=ask,
        announce=lambda rung, probe, cut: told.append(cut),
    )
    session = SimpleNamespace(clock=SimpleNamespace(left=lambda: 900.0), emit=lambda kind, **facts: None)
    found = SimpleNamespace(walk=walk, session=session, way_ahead=None)
    trials = _Trials(found, SimpleNamespace(outcome=None))
    trials._asked(next(changes("call", "a")))
    assert asked == [(limit, 30.0)] and told == [True]


def test_a_run_that_fails_by_nothing_but_what_the_program_handles_uncompiled_too_is_not_asked_again():
    expected = RaisedException("IndexError", "index out of range", swallowed=True)
    outcome = Outcome(OutcomeKind.EXCEPTION, exit_code=0, exception=expected)
    notes = AgentNotes(graphs=1, calls=1, raised=(expected,))
    run = Probe("run", None, outcome, signature_of(outcome), notes, Path("run.log"))
    asked: list[str] = []
    walk = SimpleNamespace(
        seen={"uncompiled": [run]},
        start=SimpleNamespace(notes=SimpleNamespace(backwards=0), signature=None),
        ask_changed=lambda rung, name, *_: asked.append(name) or run,
        announce=lambda *_, **__: None,
    )
    session = SimpleNamespace(
        clock=SimpleNamespace(left=lambda: 900.0), emit=lambda kind, **facts: None, pool=ThreadPoolExecutor
    )
    found = SimpleNamespace(walk=walk, session=session, way_ahead=None)
    trials = _Trials(found, SimpleNamespace(outcome=None))
    probes = trials._run_together([*changes("call", "a", "b")])
    assert [probe.outcome.failed for probe in probes] == [False, False] and len(asked) == 2


@pytest.mark.parametrize(
    ("call", "function", "as_it_is", "done"),
    [
        ((0, 0), (0, 0), OutcomeKind.OK, True),  # it went on from its checkpoint
        ((0, 0), (0, 0), OutcomeKind.EXCEPTION, False),
        ((0, 5), (0, 0), None, False),  # not asked: what it had compiled was called
        ((0, 0), (1, 5), None, False),
    ],
)
def test_where_a_changed_program_had_nothing_to_do_the_script_is_asked_as_it_is(
    call: tuple[int, int], function: tuple[int, int], as_it_is: OutcomeKind | None, done: bool
):
    def run(kind: OutcomeKind, graphs: int, calls: int) -> Any:
        return SimpleNamespace(outcome=Outcome(kind), notes=AgentNotes(graphs=graphs, calls=calls))

    trials: Any = object.__new__(_Trials)
    asked = [run(as_it_is, 1, 1)] if as_it_is is not None else []
    trials.walk = SimpleNamespace(ask_changed=lambda *_: asked.pop(), announce=lambda *_, **__: None)
    trials._limit = trials._enough = lambda: 60.0
    trials._expected = ()
    passed = (next(changes("function", "b")), run(OutcomeKind.OK, *function))
    tried = [(next(changes("call", "a")), run(OutcomeKind.OK, *call)), passed]
    assert trials._work_is_done([passed], tried) is done and not asked


@pytest.mark.parametrize(
    ("graphs", "less", "graphs_of_less", "owed"),
    [
        (0, "several graphs", 0, True),  # Dynamo gives the function up without `fullgraph=True`, whatever it calls
        (0, "several graphs", 1, False),
        (1, "several graphs", 0, False),
        (0, "another option", 0, False),
    ],
)
def test_of_a_change_that_compiles_nothing_as_a_part_of_it_does_the_rest_is_no_way_round(
    graphs: int, less: str, graphs_of_less: int, owed: bool
):
    smaller = next(changes("argument", less)), run_of_script(OutcomeKind.OK, graphs_of_less)
    for kind in ("call", "function"):
        change = next(changes(kind, "several graphs\nnothing of it")), run_of_script(OutcomeKind.OK, graphs)
        assert owed_to_less(change, [smaller, change]) is owed


def test_a_run_that_was_cut_is_not_told_as_a_hang():
    facts = {
        "rung": "with a call uncompiled",
        "name": "way-call-1",
        "outcome": "hang",
        "seconds": 60.0,
        "exception": "hang",
    }
    told = plain_line(Event("probe_ended", {**facts, "cut": True}))
    assert told == "script with a call uncompiled: had not ended within 60 s (nothing is known of it)"
    assert "hang" in (plain_line(Event("probe_ended", {**facts, "message": "", "cut": False})) or "")


@pytest.mark.parametrize(
    ("graphs", "stage", "ablation", "asked"),
    [
        (2, Stage.INDUCTOR, (), ["torch._inductor.config.force_disable_caches = True"]),
        (1, Stage.INDUCTOR, (), []),  # no graph that another one could have left
        (2, Stage.DYNAMO, (), []),
        (2, Stage.INDUCTOR, ("a row",), []),  # the reproducer was asked
    ],
)
def test_where_no_reproducer_was_asked_the_script_is_run_without_caches(
    graphs: int, stage: Stage, ablation: tuple[str, ...], asked: list[str]
):
    walk = SimpleNamespace(seen={}, start=SimpleNamespace(notes=AgentNotes(graphs=graphs)))
    found = SimpleNamespace(walk=walk, ablation=ablation)
    assert [setting.text for setting in unasked(found, SimpleNamespace(stage=stage))] == asked


def test_a_backend_with_which_the_whole_script_fails_is_no_way_round():
    trials = object.__new__(_Trials)
    told = WayRound('Compile with `backend="eager"`', "backend")
    trials._passing_backend = lambda program: told
    for failed, ways in (((), (told,)), ((told.change,), ())):
        trials.found = SimpleNamespace(no_ways_round=failed, ways_round=None)
        trials._tell(None, [], None)
        assert trials.found.ways_round == ways


@pytest.mark.parametrize(("failed", "later"), [((), False), (("aot_eager",), False), ((), True)])
def test_nor_is_one_with_which_it_fails_by_something_else(failed: tuple[str, ...], later: bool):
    trials = object.__new__(_Trials)
    trials.walk = SimpleNamespace(
        seen={"aot_eager": ["a run"]}, failed_besides=frozenset(failed), later_on=lambda rung: later or None
    )
    trials.conclusion = Conclusion(Stage.INDUCTOR, Symptom.WRONG_RESULT, failing=LADDER[3], passing=LADDER[2])
    program = Program(lambda path: Source(""), Path("/x.py"), {})
    assert (trials._passing_backend(program) is None) == bool(failed or later)


def test_a_note_says_with_how_many_changes_the_script_fails_in_another_way():
    change = Change("backend", "x", None, {}, {})
    probe = SimpleNamespace(outcome=Outcome(OutcomeKind.EXCEPTION))
    (told,) = what_to_say(None, [(change, probe)] * 3, [], False, 1)
    assert told.endswith(
        "3 changed programs were run (backend), and with none the script passes; with 1 of them it fails in another way."
    )
    assert what_to_say(None, [(change, probe)], [], True, 0) == []
    for otherwise, way in ((0, "the same"), (1, "another")):
        (told,) = what_to_say(None, [(change, probe)], [change], False, otherwise)
        words = f"one changed program was run (backend), and fails in {way} way. There was no time for others."
        assert told == f"Ways round: {words}"
    idle = SimpleNamespace(outcome=Outcome(OutcomeKind.OK), notes=AgentNotes())
    (told,) = what_to_say(None, [(change, probe), (change, idle)], [], False, 0)
    assert told.endswith("(backend), and none is known to help; with 1 of them it compiled nothing.")


def ran(step: float | None, graphs: int = 1) -> AgentNotes:
    return AgentNotes(graphs=graphs, steps=Steps(calls=9, call=step) if step is not None else None)


@pytest.mark.parametrize(
    ("runs", "compared", "first"),
    [
        ((ran(0.04), ran(0.01)), False, 1),
        ((ran(0.04), ran(0.01)), True, 0),  # what results are compared in is not timed
        ((ran(0.011), ran(0.01)), False, 0),  # so little says nothing
        ((ran(None), ran(0.01)), False, 0),
        ((ran(0.01, graphs=0), ran(0.04)), False, 1),  # nothing is compiled any more
        ((ran(0.01), ran(0.01, graphs=0)), False, 0),
        ((), False, None),
    ],
)
def test_of_those_that_pass_the_one_that_is_measured_as_clearly_cheaper_comes_first(
    runs: tuple[AgentNotes, ...], compared: bool, first: int | None
):
    trials = SimpleNamespace(_comparison=object() if compared else None)
    passed = [
        (change, SimpleNamespace(notes=notes)) for change, notes in zip(changes("call", *"ab"), runs, strict=False)
    ]
    found = _Trials._best_first(trials, passed)
    assert sorted(map(id, found)) == sorted(map(id, passed))
    assert (passed.index(found[0]) if found else None) == first


SPLIT = Setting("argument", "dynamic", False, "torch.compile(..., dynamic=False)", 1)


@pytest.mark.parametrize(
    ("symptom", "first"),
    [
        (
            Symptom.EXCEPTION,
            ["Compile with `fullgraph=False` (train.py:3)", "Compile with `dynamic=False` (train.py:3)"],
        ),
        (Symptom.WRONG_RESULT, ["Compile with `dynamic=False` (train.py:3)"]),  # of what was traced, and all of it was
    ],
)
def test_what_helped_the_reproducer_is_tried_behind_several_graphs_and_before_what_compiles_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, symptom: Symptom, first: list[str]
):
    monkeypatch.setattr("triage.stories.ways_planned.row_of", lambda *_: None)
    path = tmp_path / "train.py"
    path.write_text("import torch\nf = torch.sin\ng = torch.compile(f, fullgraph=True)\n")
    walk = SimpleNamespace(start=SimpleNamespace(notes=AgentNotes()), seen={})
    found = SimpleNamespace(
        target=SimpleNamespace(cwd=tmp_path, script=path, python=str(tmp_path)), walk=walk, cures=(SPLIT,),
            spellings=(), cases=(),
        diverging=None, first_wrong=None, given_wrong=None, fake_wrong=None, reproduced=None,
    )  # fmt: skip
    conclusion = Conclusion(Stage.DYNAMO, symptom, failing=LADDER[1], passing=LADDER[0])
    program = Program(lambda path: Source.read(path.read_bytes()), path, {path: (3,)}, one_graph=True)
    planned_ones = plan(found, conclusion, program, Files(found))
    assert [change.words for change in planned_ones][: len(first)] == first
