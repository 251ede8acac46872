"""Ways round by settings, arguments, whole functions and lines of the program: what is changed, and what stays to the byte."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from ways_round_programs import FILE, TRAIN, config, lines_changed, program, source, with_call

from triage.culprit.known_causes import CureStatement
from triage.culprit.settings import Setting
from triage.culprit.ways_round.calls import respelled_calls
from triage.culprit.ways_round.changes import (
    Program,
    Spot,
    of_backend,
    of_calls,
    of_cure,
    of_functions,
    of_marks,
    of_regions,
    of_settings,
    of_several_graphs,
    of_uses,
)
from triage.culprit.ways_round.functions import disabled_functions
from triage.culprit.ways_round.source import Source, functions_called


def test_an_option_of_a_part_of_the_configuration():
    change = next(of_settings(program(), [config("torch._inductor.config.triton.cudagraphs", False)]))
    text = change.texts[FILE].decode()
    assert "\nimport torch._inductor.config\n\ntorch._inductor.config.triton.cudagraphs = False\n" in text


def argument(name: str, value: object, line: str) -> str:
    text = f"import torch\n{line}\n"
    change = next(of_settings(program(text, line=2), [Setting("argument", name, value, "", 0)]))
    return change.texts[FILE].decode().splitlines()[1]


def test_an_argument_that_the_error_names_comes_first():
    cures = [Setting("argument", "dynamic", True, "", 0), Setting("argument", "fullgraph", False, "", 1)]
    found = program("import torch\ng = torch.compile(f, fullgraph=True)\n", line=2)
    named = [change.words for change in of_settings(found, cures, "Hard failure due to fullgraph=True")]
    assert named[0].startswith("Compile with `fullgraph=False`") and len(named) == 2
    assert next(of_settings(found, cures, "Hard failure")).words.startswith("Compile with `dynamic=True`")


def test_sizes_are_not_left_to_torch_where_static_ones_pass():
    """A reproducer has one size; left to torch, the second one of a program makes them dynamic, and it fails as before."""
    cures = [Setting("argument", "dynamic", value, "", 0) for value in (None, False)]
    found = program("import torch\ng = torch.compile(f, dynamic=True)\n", line=2)
    (change,) = of_settings(found, cures)
    assert change.words.startswith("Compile with `dynamic=False`")
    assert next(of_settings(found, cures[:1])).words.startswith("Compile without `dynamic=`")


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("g = torch.compile(f)  # fast", "g = torch.compile(f, dynamic=True)  # fast"),
        ("g = torch.compile((f))", "g = torch.compile((f), dynamic=True)"),
        ("g = torch.compile(f, )", "g = torch.compile(f, dynamic=True )"),
        ("g = torch.compile(f, dynamic  =  False)", "g = torch.compile(f, dynamic  =  True)"),
        ("net.compile()", "net.compile(dynamic=True)"),
    ],
)
def test_an_argument_of_torch_compile(line: str, changed: str):
    assert argument("dynamic", True, line) == changed


def test_a_decorator_without_parentheses_gets_some():
    text = "import torch\n@torch.compile\ndef f(x):\n    return x\n"
    change = next(of_backend(program(text, line=2), "aot_eager"))
    assert change.texts[FILE].decode() == text.replace("@torch.compile", '@torch.compile(backend="aot_eager")')


def test_an_argument_is_taken_out():
    assert argument("mode", None, 'g = torch.compile(f, mode="max-autotune", dynamic=True)') == (
        "g = torch.compile(f, dynamic=True)"
    )


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("{'a': 1}", None),
        ("{'a': 1, 'b': 2}", "{'b': 2}"),
        ("{'b': 2, 'a': 1,}", "{'b': 2,}"),
        ("{'b': 2}", "{'b': 2}"),
        ("OPTIONS", "{name: value for name, value in OPTIONS.items() if name != 'a'}"),
        ("OPTIONS | {'a': 1}", "{name: value for name, value in (OPTIONS | {'a': 1}).items() if name != 'a'}"),
        ("{**OPTIONS, 'a': 1}", "{name: value for name, value in ({**OPTIONS, 'a': 1}).items() if name != 'a'}"),
    ],
)
def test_one_option_is_taken_out(given: str, left: str | None):
    text = f"import torch\ng = torch.compile(f, options={given}, dynamic=True)\n"
    changes = list(of_settings(program(text, line=2), [Setting("option", "a", None, "", 1)]))
    wanted = f"import torch\ng = torch.compile(f, {f'options={left}, ' if left else ''}dynamic=True)\n"
    assert [change.texts[FILE].decode() for change in changes] == ([wanted] if wanted != text else [])
    assert [change.words for change in changes] == ["Compile without the option `a` (train.py:2)"] * len(changes)


def test_a_mode_takes_the_place_of_options():
    text = "import torch\ng = torch.compile(f, options={'a': 1}, dynamic=True)\n"
    (change,) = of_settings(program(text, line=2), [Setting("argument", "mode", "max-autotune", "", 2)])
    assert "torch.compile(f, mode='max-autotune', dynamic=True)" in change.texts[FILE].decode()
    assert change.words == "Compile with `mode='max-autotune'` in place of `options=` (train.py:2)"


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ('g = torch.compile(f, mode="max-autotune")', 'g = torch.compile(f, backend="eager")'),
        ('@torch.compile(mode="default")', '@torch.compile(backend="eager")'),
        ('g = torch.compile(f, options={"a": 1}, backend="inductor")', 'g = torch.compile(f, backend="eager")'),
    ],
)
def test_another_backend_has_no_mode_and_no_options(line: str, changed: str):
    text = f"import torch\n{line}\n" + ("def f():\n    pass\n" if line.startswith("@") else "")
    change = next(of_backend(program(text, line=2), "eager"))
    assert change.texts[FILE].decode().splitlines()[1] == changed
    assert change.words == 'Compile with `backend="eager"` (train.py:2)'


def test_arguments_that_are_spread_are_left_alone():
    text = "import torch\ng = torch.compile(f, **settings)\n"
    assert not list(of_backend(program(text, line=2), "eager"))


def test_a_method_is_disabled_right_above_its_def():
    found = next(disabled_functions(source(TRAIN), 10))
    changed = source(TRAIN).changed(found.edits)
    assert (found.name, found.line) == ("Net.loss", 9)
    assert lines_changed(TRAIN, changed.text) == ["    @torch.compiler.disable"]
    assert "    @torch.compiler.disable\n    def loss(self, x):\n" in changed.text


def test_the_innermost_function_comes_first_and_then_those_around():
    text = "import torch\ndef outer(x):\n    def inner(y):\n        return y\n    return inner(x)\n"
    words = [change.words for change in of_functions(program(text, line=1), [Spot(FILE, 4)])]
    assert words == [
        "Decorate `inner` (train.py:3) with `@torch.compiler.disable`",
        "Decorate `outer` (train.py:2) with `@torch.compiler.disable`",
    ]


def test_a_function_that_torch_compile_itself_is_given_gets_no_decorator_that_it_would_take_off():
    text = "import torch\ndef outer(x):\n    def inner(y):\n        return y\n    return inner(x)\nf = torch.compile(outer)\n"
    known = replace(program(text, line=6), names=frozenset({"outer"}))
    words = [change.words for change in of_functions(known, [Spot(FILE, 4), Spot(FILE, 5)])]
    assert words == ["Decorate `inner` (train.py:3) with `@torch.compiler.disable`"]
    graphs: list[Any] = []

    def keep(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph

    torch.compile(torch.compiler.disable(lambda x: x + 1), backend=keep)(torch.ones(2))
    assert len(graphs) == 1
    torch.compile(lambda x: x + 1, backend=keep, disable=True)(torch.ones(2))
    assert len(graphs) == 1


def test_what_one_use_of_torch_compile_compiles_is_left_uncompiled():
    text = "import torch\nf = torch.compile(sin)\n@torch.compile\ndef g(x):\n    return x\n"
    changes = list(of_uses(replace(program(text), compiled={FILE: (2, 3)})))
    assert [change.where for change in changes] == ["train.py:2", "train.py:3"]
    likely = list(of_uses(replace(program(text), compiled={FILE: (2, 3)}), ["train.py:3"]))
    assert [change.where for change in likely] == ["train.py:3", "train.py:2"]
    assert "f = torch.compile(sin, disable=True)\n@torch.compile\n" in changes[0].texts[FILE].decode()
    assert "f = torch.compile(sin)\n@torch.compile(disable=True)\n" in changes[1].texts[FILE].decode()


CALLS = """
class Net:
    def forward(self, x):
        return self.loss(x) + helper(x)

    def loss(self, x):
        return helper(x)

    def unused(self, x):
        return x

def helper(x):
    return last(x)

def last(x):
    return helper

def step(net, x):
    return net.forward(x)
"""


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("step", ["last", "helper", "loss", "forward"]),
        ("Net", ["last", "helper", "loss"]),
        ("Net.loss", ["last", "helper"]),
        ("last", []),
        ("of another file", []),
    ],
)
def test_functions_that_one_may_call_come_by_their_names_the_last_called_first(name: str, called: list[str]):
    found = [function.name for function in functions_called(source(CALLS), name)]
    assert sorted(found) == sorted(called)
    assert not called or found[0] == called[0]


def test_other_decorators_stay_above():
    text = "import torch\n\n@torch.no_grad()\n@other\ndef f(x):\n    return x\n"
    change = next(of_functions(program(text, line=1), [Spot(FILE, 6)]))
    assert "@torch.no_grad()\n@other\n@torch.compiler.disable\ndef f(x):\n" in change.texts[FILE].decode()


def test_one_graph_cannot_have_a_part_that_is_not_compiled():
    change = next(of_calls(program(one_graph=True), [Spot(FILE, 10, ("cumsum",))]))
    assert "@torch.compile(fullgraph=False)\n" in change.texts[FILE].decode()
    assert change.words.endswith("and compile with `fullgraph=False`")


def test_the_call_that_does_the_guilty_operation_is_awaited_and_other_calls_of_its_line_are_not():
    text = "import torch\n@torch.compile\ndef f(x):\n    return torch.cumsum(x.abs(), 0)\n"
    named, other = of_calls(program(text, line=2), [Spot(FILE, 4, ("cumsum",))])
    assert ("cumsum" in named.words, named.awaited) == (True, True)
    assert ("abs" in other.words, other.awaited) == (True, False)
    assert not any(change.awaited for change in of_calls(program(text, line=2), [Spot(FILE, 4)]))


def test_one_graph_alone_is_taken_back_once_and_where_it_is_asked_for():
    text = "import torch\ng = torch.compile(f, fullgraph=True)\nh = torch.compile(f)\n"
    known = source(text)
    two = Program(lambda _: known, FILE, {FILE: (2, 3)}, one_graph=True)
    (change,) = of_several_graphs(two)
    assert change.texts[FILE].decode() == text.replace("True", "False")
    assert (change.kind, change.words) == ("argument", "Compile with `fullgraph=False`")
    assert [each.texts for each in of_settings(two, [Setting("argument", "fullgraph", False, "", 1)])] == [change.texts]
    assert not list(of_several_graphs(program("import torch\ng = torch.compile(f)\n", line=2)))


def test_a_mark_that_the_error_speaks_of_becomes_a_wish():
    text = "import torch\ndef run(f, x):\n    torch._dynamo.mark_dynamic(x, 1)\n    return torch.compile(f)(x)\n"
    error = "Constraints violated\n  - You marked L['x'].size()[1] as dynamic but your code specialized it to be a constant (7)."
    (change,) = of_marks(program(text, line=4), error)
    assert lines_changed(text, change.texts[FILE].decode()) == ["    torch._dynamo.maybe_mark_dynamic(x, 1)"]
    assert not list(of_marks(program(text, line=4), "Constraints violated"))


REGIONS = """import torch
from torch.compiler import nested_compile_region
region = torch.compiler.nested_compile_region
@nested_compile_region
@torch.no_grad()
def one(x):
    return x + 1
@region
def two(x):
    return x + 2
class Net:
    @torch.compiler.nested_compile_region(max_reuse_entries=4)
    def three(self, x):
        return x + 3
four = nested_compile_region(lambda x: x + 4)
run = torch.compile(lambda x: four(two(one(x))))
"""


def test_a_region_that_the_reproducer_needs_is_left_out():
    (change,) = of_regions(program(REGIONS, line=16), "@torch.compiler.nested_compile_region\ndef g(x): ...")
    assert change.texts[FILE].decode().splitlines() == [
        line.replace("torch.compiler.nested_compile_region", "(lambda function: function)").replace(
            "nested_compile_region(lambda x: x + 4)", "lambda x: x + 4"
        )
        for line in REGIONS.splitlines()
        if "@nested_compile_region" not in line and "max_reuse_entries" not in line
    ]
    assert change.kind == "spelling"
    assert not list(of_regions(program(REGIONS, line=16), "def g(x): ..."))


WARNS = CureStatement('warnings.filterwarnings("default", module="torch")', "warnings", above_compile=True)


def test_the_line_that_cures_a_known_cause_goes_below_the_imports():
    (change,) = of_cure(program(), CureStatement("torch._functorch.config.cse = False", "torch._functorch.config"))
    assert lines_changed(TRAIN, change.texts[FILE].decode()) == [
        "import torch._functorch.config",
        "torch._functorch.config.cse = False",
    ]
    assert (change.kind, change.words) == (
        "setting",
        "Put `torch._functorch.config.cse = False` after the imports of train.py",
    )
    assert not list(of_cure(program(), None))


def test_or_above_what_compiles_its_decorators_among_it():
    (change,) = of_cure(program(), WARNS)
    changed = change.texts[FILE].decode()
    assert f"\n{WARNS.text}\n@torch.compile(fullgraph=True)\ndef step" in changed and "\nimport warnings\n" in changed
    assert change.words == f"Put `{WARNS.text}` above train.py:18"


def test_inside_a_function_it_has_the_indent_of_the_statement_and_its_module_is_imported_once():
    text = "import torch, warnings\n\ndef main(nets):\n    runs = [\n        torch.compile(n) for n in nets\n    ]\n"
    (change,) = of_cure(program(text, line=5), WARNS)
    assert change.texts[FILE].decode() == text.replace("    runs", f"    {WARNS.text}\n    runs")


def test_line_ends_and_encoding_stay():
    data = TRAIN.replace("running sum", "laufende Summe: äö").replace("\n", "\r\n")
    data = "# -*- coding: latin-1 -*-\r\n" + data
    known = Source.read(data.encode("latin-1"))
    changed = known.changed(next(respelled_calls(known, 11, ("cumsum",))).edits)
    assert b"\n" not in changed.data.replace(b"\r\n", b"")
    assert "laufende Summe: äö".encode("latin-1") in changed.data
    assert b"y = _cumsum_uncompiled(x, 0)  # a" in changed.data


def test_characters_of_several_bytes_before_a_call():
    text = 'import torch\ndef f(x):\n    return {"äöü€": torch.cumsum(x, 0), "ß": x}\n'
    assert '    return {"äöü€": _cumsum_uncompiled(x, 0), "ß": x}\n' in with_call(3, "cumsum", text=text)


@pytest.mark.parametrize("data", [b"x = (", b"\xff\xfe = 1", b"# coding: nonsense\n"])
def test_what_is_no_python_is_no_source(data: bytes):
    assert Source.read(data) is None
