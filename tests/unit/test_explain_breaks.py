"""Graph breaks and compile times from events: whose line, in whose words, how often, and what to do."""

import pytest

from triage.explain.advice import advice, trial_of
from triage.explain.breaks import first_to_fail, graph_breaks, trials, tried, words_of
from triage.explain.times import by_phase, compile_time
from triage.model.explanation import GraphBreak
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.stories.explain_run import how_it_ended

# As torch 2.13 words it.
PRINT = """Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str']
  Hint: Avoid calling builtin `print` with argument types ['str'].
  Hint: If you are attempting to call a logging function (e.g. `print`), you can try adding it to
    `torch._dynamo.config.reorderable_logging_functions`.
  Hint: Please report an issue to PyTorch.

  Developer debug context: builtin print [<class 'ConstantVariable'>] False

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"""
LOOP = f"""{PRINT}

*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: torch.compile detected a graph break in a for/while loop.
  Hint: This graph break may have been caused by an earlier graph break."""
BRANCH = """Data-dependent branching
  Explanation: Detected data-dependent branching. Dynamo does not support tracing dynamic control flow. The branch condition involves a tensor computed as follows:
    # File "net.py", line 12, in forward, code: h = self.lin(x)
    l_x_: graph input
  Hint: Use `torch.cond` to express dynamic control flow."""  # noqa: E501


def frame(file, line, function="forward", code="print('a')", own=True):
    return [str(file), line, function, code, own]


def event(text, *stack, skipped=False, id=None):
    return {"e": "break", "text": text, "stack": list(stack), "skipped": skipped, "id": id}


def test_torchs_words_are_taken_apart():
    found = words_of(PRINT)
    assert (found.reason, found.id) == ("Failed to trace builtin operator", "GB0059")
    assert found.link == "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"
    assert found.explanation.endswith("argument types ['str']")
    assert [hint.split()[0] for hint in found.hints] == ["Avoid", "If", "Please"]
    assert found.hints[1].endswith("`torch._dynamo.config.reorderable_logging_functions`.")


def test_the_first_of_two_breaks_is_the_reason():
    assert words_of(LOOP) == words_of(PRINT)


def test_a_listing_of_operations_is_no_explanation():
    assert words_of(BRANCH).explanation.endswith("dynamic control flow.")


def test_a_release_with_one_line_has_that_one():
    found = words_of("call_function BuiltinVariable(print) [ConstantVariable(str)] {}")
    assert found.reason == "call_function BuiltinVariable(print) [ConstantVariable(str)] {}"
    assert (found.hints, found.id, found.explanation) == ((), None, "")


def test_short_names_of_older_releases_are_put_in_words():
    assert (
        words_of("generic_jump TensorVariable()").reason == "Data-dependent branching (generic_jump TensorVariable())"
    )
    assert words_of("step_unsupported").reason.startswith("A break that Dynamo cannot go on behind")


def test_a_line_reached_from_several_places_is_one_row(tmp_path):
    net = tmp_path / "net.py"
    net.write_text("def f(x):\n    a(x)\n    print('a')\n    return x\n")
    inner = frame(net, 3, "noisy")
    events = [
        event(PRINT, frame(net, 17, code="h = noisy(h)"), inner),
        event(PRINT, inner),
        event(PRINT, frame(net, 18, "torch_dynamo_resume_in_forward_at_17", "h = noisy(h)"), inner),
        event("another reason", inner),
    ]
    first, second = graph_breaks(events, tmp_path)
    assert (first.file, first.line, first.count, first.function, first.id) == ("net.py", 3, 3, "noisy", "GB0059")
    assert first.called_from == ("net.py:17 in forward", "net.py:18 in forward")
    assert [(line.line, line.code) for line in first.source] == [
        (2, "    a(x)"),
        (3, "    print('a')"),
        (4, "    return x"),
    ]
    assert (second.reason, second.count) == ("another reason", 1)


def test_a_break_inside_a_library_is_told_at_the_line_that_calls_it(tmp_path):
    library = frame("/site-packages/lib/core.py", 90, "helper", "print('x')", own=False)
    (row,) = graph_breaks([event(PRINT, frame(tmp_path / "net.py", 5, code="y = lib.helper(x)"), library)], tmp_path)
    assert (row.file, row.line, row.code) == ("net.py", 5, "y = lib.helper(x)")
    assert row.inside == "/site-packages/lib/core.py:90 in helper"


def test_what_follows_a_break_is_charged_to_it(tmp_path):
    graphs = [
        {
            "graph": "1/0",
            "function": "torch_dynamo_resume_in_forward_at_5",
            "file": str(tmp_path / "net.py"),
            "seconds": 0.5,
        },
        {
            "graph": "1/1",
            "function": "torch_dynamo_resume_in_forward_at_5",
            "file": str(tmp_path / "net.py"),
            "us": 250000,
        },
        {
            "graph": "2/0",
            "function": "torch_dynamo_resume_in_forward_at_9",
            "file": str(tmp_path / "net.py"),
            "seconds": 7,
        },
    ]
    times = compile_time([{"e": "compile_times", "graphs": graphs}], tmp_path).by_graph
    (row,) = graph_breaks([event(PRINT, frame(tmp_path / "net.py", 5), skipped=True)], tmp_path, times)
    assert (row.seconds, row.skips_frame) == (0.75, True)


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        ("print('a')", PRINT, "reorderable_logging_functions"),
        ("assert torch.all(x > 0), f'{x}'", BRANCH, "plain string"),
        ("if x.sum() > 0:", BRANCH, "torch.cond"),
        (
            "n = x.mean().item()",
            "Unsupported Tensor.item() call\n  Hint: Set `capture_scalar_outputs`.",
            "Set `capture",
        ),
        ("for v in x.numpy():", "Unsupported ndarray method call\n  Explanation: not modelled", "torch operations"),
        ("if x.sum() > 0:", "generic_jump TensorVariable()", "torch.where"),
        ("if x.sum() > 0:", "Dynamic control flow is not supported at the moment. Please use cond", "torch.where"),
        ("f(x)", "something new", "torch.compiler.disable"),
    ],
)
def test_what_to_do_fits_the_line(code, text, said):
    found = words_of(text)
    assert said in advice(code, found.reason, found.explanation, found.hints)


def test_phases_hold_what_lies_inside_of_them_no_more():
    told = {"entire_frame_compile": 52.0, "backend_compile": 50.7, "inductor_compile": 47.0, "code_gen": 45.0}
    found = by_phase({**told, "async_compile.wait": 28.2, "gc": 0.1})
    assert found == {"dynamo": 1.3, "aot_autograd": 3.7, "inductor": 2.0, "code_generation": 16.8, "kernel_build": 28.2}
    older = {"GraphLowering.compile_to_module": 8.5, "compile_file": 7.0}
    assert by_phase(older) == {"code_generation": 1.5, "kernel_build": 7.0}
    assert by_phase({"_compile.<locals>.compile_inner": 2.0, "OutputGraph.call_user_compiler": 0.5}) == {
        "dynamo": 1.5,
        "aot_autograd": 0.5,
    }


def test_times_of_two_processes_are_summed(tmp_path):
    end = {
        "e": "compile_times",
        "phases": {"entire_frame_compile": 2.0},
        "calls": 3,
        "first_call": 1.5,
        "later_call": 0.1,
    }
    found = compile_time([end, {**end, "calls": 0, "first_call": None}], tmp_path)
    assert (found.seconds, found.calls, found.first_call, found.later_call) == (4.0, 3, 1.5, 0.1)
    assert compile_time([], tmp_path).seconds == 0


def test_what_fullgraph_fails_with_is_found_in_the_users_code(tmp_path):
    stack = (
        Frame(str(tmp_path / "net.py"), 5, "forward", "noisy(x)"),
        Frame("/site-packages/lib.py", 9, "f", "print()"),
    )
    error = RaisedException("torch._dynamo.exc.Unsupported", PRINT, user_code=stack)
    found = first_to_fail(Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=error), (), tmp_path)
    assert (found.file, found.line, found.id) == ("net.py", 5, "GB0059")
    assert first_to_fail(Outcome(OutcomeKind.CRASH, 1.0, -11), (), tmp_path) is None


SCALAR = "Set torch._dynamo.config.capture_scalar_outputs = True."
LOGGED = "Add it to torch._dynamo.config.reorderable_logging_functions."


@pytest.mark.parametrize(
    ("code", "text", "settings"),
    [
        ("n = x.sum().item()", SCALAR, {"capture_scalar_outputs": True}),
        ("print(x)", LOGGED, {"reorderable_logging_functions": ["builtins.print"]}),
        ("warnings.warn('x')", LOGGED, {"reorderable_logging_functions": ["warnings.warn"]}),
        ("log.info(x)", LOGGED, None),  # which function that is stands in no line
        ("if x.sum() > 0:", "Use torch.cond.", None),
    ],
)
def test_what_can_be_set_from_outside_is_tried(code, text, settings):
    trial = trial_of(code, text)
    assert (trial.settings if trial is not None else None) == settings


def broken(line, code, cure, reason="why"):
    return GraphBreak("net.py", line, code, reason, cure=cure)


ITEM, PRINTS = broken(3, "n = x.item()", SCALAR), broken(7, "print(x)", LOGGED)


def test_each_setting_is_tried_once():
    assert [trial.name for trial in trials([ITEM, PRINTS, broken(9, "m = x.item()", SCALAR)])] == [
        "capture_scalar_outputs",
        "reorderable_logging_functions",
    ]


@pytest.mark.parametrize(
    ("after", "failure", "works", "note"),
    [
        ([PRINTS], None, True, None),
        ([ITEM, PRINTS], None, False, None),
        ([broken(3, "n = x.item()", "", "another"), PRINTS], None, False, "then it breaks at net.py:3: another"),
        ([broken(4, "if n:", "", "branch"), PRINTS], None, True, "then it breaks at net.py:4: branch"),
        ([], "with it the run fails: E", False, "with it the run fails: E"),
    ],
)
def test_a_cure_works_where_the_line_breaks_no_more(after, failure, works, note):
    rows = [ITEM, PRINTS]
    item, printed = tried(rows, trials(rows)[0], after, failure)
    assert (item.tried, item.cure_works, item.note) == ("capture_scalar_outputs", works, note)
    assert printed == PRINTS


def test_what_a_wrapper_says_below_its_first_line_is_what_is_told_of_a_run_that_fails():
    inner = RaisedException("RuntimeError", "Complex dtype is not supported")
    wrapper = RaisedException("torch._dynamo.exc.BackendCompilerFailed", "backend='aot_eager' raised:", inner=inner)
    told = how_it_ended(Outcome(OutcomeKind.EXCEPTION, exception=wrapper))
    assert (told["exception"], told["message"]) == ("RuntimeError", "Complex dtype is not supported")
