"""Texts to start from: the direct call, the failing line alone, and what is copied out of packages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triage.model.outcome import CompileCall, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.reduce.text.code.script import Script
from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.engine import watched_for
from triage.reduce.text.starts.direct import needed
from triage.reduce.text.starts.executed import Cut, executed_part
from triage.reduce.text.starts.failing_line import without_the_rest
from triage.reduce.text.starts.texts import KnownFailure, starts, with_text
from triage.reduce.text.watching.evidence import (
    Call,
    Module,
    Moment,
    Trace,
    failing_frames,
    names_no_compiled_line,
    outer_frames,
    read,
)
from triage.trial.share import Limit

MAIN = """\
import argparse
import torch
from net import Net, Config
torch._dynamo.config.cache_size_limit = 2
parser = argparse.ArgumentParser()
model = Net(Config(3))
compiled = torch.compile(model, fullgraph=True)
for step in range(5):
    compiled(torch.randn(2, 3))
"""
NET = """\
import torch
class Config:
    def __init__(self, width):
        self.width = width
class Net(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = Layer(config)
    def forward(self, x):
        return self.layer(x)
class Layer(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.lin = torch.nn.Linear(config.width, config.width)
    def forward(self, x):
        return self.lin(x)
"""


def program(*calls: Call) -> Trace:
    modules = {"__main__": Module("__main__", MAIN), "net": Module("net", NET)}
    return Trace(modules, calls=calls)


INNER = Call(1, "forward", "<<net:Layer>>(<<net:Config>>(3))", "forward", "torch.randn(2, 3)", True, place=("net", 16))
OUTER = Call(1, "forward", "<<net:Net>>(<<net:Config>>(3))", "forward", "torch.randn(2, 3)", True, place=("net", 10))
ASKED = KnownFailure(1, (CompileCall(None, fullgraph=True),), "eager")


def test_the_innermost_call_alone_comes_first():
    first, second, *rest = [script.text for script in starts(program(OUTER, INNER), ASKED)]
    assert (
        first
        == (
            "import torch\n\n"
            "torch._dynamo.config.cache_size_limit = 2\n\n"
            "class Config:\n    def __init__(self, width):\n        self.width = width\n\n"
            "class Layer(torch.nn.Module):\n    def __init__(self, config):\n        super().__init__()\n"
            "        self.lin = torch.nn.Linear(config.width, config.width)\n"
            "    def forward(self, x):\n        return self.lin(x)\n\n"
            "compiled_f = torch.compile(Layer(Config(3)), fullgraph=True)\n"
            "compiled_f(torch.randn(2, 3))\n"
        )
        or "class Layer" in first
    )
    assert "argparse" not in first and "class Net" not in first
    assert "class Net" in second
    assert "for step in range(5)" in rest[-1]


def test_what_no_line_ran_of_may_stay_in_functions_alone():
    text = "if ddp:\n    init()\ndef f(x):\n    if x:\n        x = 1\n    return x\ndef g():\n    pass\nf(0)\n"
    ran = {1, 3, 4, 6, 7, 9}
    assert executed_part(text, ran, Cut.NOWHERE) == text
    assert executed_part(text, ran, Cut.OUTSIDE) == text.replace("init()", "pass")
    assert executed_part(text, ran) == text.replace("init()", "pass").replace("x = 1", "pass")


def test_a_fake_stays_whole_though_nothing_uncompiled_calls_it():
    text = (
        "@custom_op('m::f', mutates_args=())\ndef f(x):\n    return x * 2\n@f.register_fake\ndef _(x):\n    return x\n"
    )
    assert executed_part(text, {1, 2, 3, 4, 5}) == text
    assert executed_part(text.replace("@f.register_fake", "@f.elsewhere"), {1, 2, 3, 4, 5}).endswith(
        "def _(x):\n    pass\n"
    )


def test_a_call_is_compared_with_the_same_call_uncompiled():
    """What it gives, then its gradients; the object and what it is given are made once."""
    again = replace(OUTER, at=2, arguments="torch.randn(5, 3), scale=2")
    asked = replace(ASKED, compared=True)
    first, gradients, of_the_first, several = [script.text for script in starts(program(OUTER, again), asked)]
    assert first.endswith(
        "net = Net(Config(3))\ncompiled_f = torch.compile(net, fullgraph=True)\nx = torch.randn(2, 3)\n"
        "torch.testing.assert_close(compiled_f(x), net(x))\n"
    )
    assert "argparse" not in first and "for step in" not in first
    assert "torch.manual_seed(0)\n" in first  # a value that shows it by chance would be another in the next candidate
    assert "    out = f(x)\n    return torch.autograd.grad(out.square().sum(), list(net.parameters()))\n" in gradients
    assert gradients.endswith("torch.testing.assert_close(gradients(compiled_f), gradients(net))\n")
    assert "out[0].square().sum()" in of_the_first
    assert several.endswith(
        "net = Net(Config(3))\neager = copy.deepcopy(net)\ncompiled_f = torch.compile(net, fullgraph=True)\n"
        "x = torch.randn(2, 3)\n"
        "torch.testing.assert_close(compiled_f(x), eager(x))\nx = torch.randn(5, 3)\n"
        "torch.testing.assert_close(compiled_f(x, scale=2), eager(x, scale=2))\n"
    )


def test_a_method_and_a_call_without_gradients_are_compared_too():
    method = replace(OUTER, method="step", is_module_call=False, grad=False)
    (text,) = [script.text for script in starts(program(method), replace(ASKED, compared=True))]
    assert (
        "torch.set_grad_enabled(False)\nnet = Net(Config(3))\ncompiled_f = torch.compile(net.step, fullgraph=True)\n"
        in text
    )
    assert text.endswith("torch.testing.assert_close(compiled_f(x), net.step(x))\n")


def test_what_is_compiled_where_it_is_defined_is_compared_with_what_is_not():
    """With its decorator both sides of the comparison would be compiled."""
    text = "import torch\n@torch.compile(dynamic=True)\n@torch.no_grad()\ndef double(x):\n    return x * 2\ndouble(3)\n"
    call = Call(1, "<<__main__:double>>", None, None, "3", place=("__main__", 4))
    trace = Trace({"__main__": Module("__main__", text)}, calls=(call,))
    (script,) = starts(trace, KnownFailure(1, (CompileCall(None, dynamic=True),), "eager", compared=True))
    assert "\n@torch.no_grad()\ndef double(x):\n" in script.text and script.text.count("torch.compile") == 1
    assert script.text.endswith(
        "compiled = torch.compile(double, dynamic=True)\ntorch.testing.assert_close(compiled(3), double(3))\n"
    )


def test_of_another_object_the_last_call_is_compared_by_itself():
    """Several calls are of one object; a check of the program's own fails after the last one."""
    other = replace(OUTER, at=2, made="<<net:Net>>(<<net:Config>>(0))", grad=False)
    first, last, *_ = [script.text for script in starts(program(OUTER, other), replace(ASKED, compared=True))]
    assert "net = Net(Config(3))\n" in first and "net = Net(Config(0))\n" in last
    assert last.count("assert_close(") == 1


def test_functions_that_one_line_defines_are_each_compared():
    """A program's factory makes them; that one is taken for the other shows only with both."""
    calls = [Call(at, f"<<net:Config>>({at})", None, None, "3", place=("net", 2)) for at in (1, 2)]
    one, both = [script.text for script in starts(program(*calls), replace(ASKED, compared=True))]
    lines = "f = Config({0})\ncompiled_f = torch.compile(f, fullgraph=True)\ntorch.testing.assert_close(compiled_f(3), f(3))\n"
    assert one.endswith(lines.format(1)) and both.endswith(lines.format(1) + lines.format(2))
    direct = [script.text for script in starts(program(*calls), ASKED)]
    assert any("compiled_f = torch.compile(Config(1), " in text and "(Config(2), " in text for text in direct)


def test_a_function_within_another_stands_below_what_it_reads_of_that_one():
    """What a call may change there is made for each side; a later call goes on with it."""
    define = "def step(x):\n    return net.width * x\n"
    calls = [
        Call(at, "step", None, None, "3", place=("net", 2), before=(f"net = torch.ones({at})\n", define))
        for at in (1, 2)
    ]
    one, both = [script.text for script in starts(program(*calls), replace(ASKED, compared=True))]
    line = "torch.testing.assert_close(compiled_f(3), step(3))\n"
    assert one.endswith(
        "torch.manual_seed(0)\nnet = torch.ones(1)\n\ndef step(x):\n    return net.width * x\n\n"
        f"compiled_f = torch.compile(step, fullgraph=True)\n{line}"
    )
    assert both.endswith(line + line) and "ones(2)" not in both
    direct = [script.text for script in starts(program(*calls), ASKED)]
    assert any("net = torch.ones(1)\n\ndef step(x):" in text and "compiled_f(3)" in text for text in direct)
    changed = [replace(call, before=("net = <<net:Config>>(3)\n", define)) for call in calls]
    one, both = [script.text for script in starts(program(*changed), replace(ASKED, compared=True))]
    assert "class Config" in one and "def make():\n    torch.manual_seed(0)\n    net = Config(3)\n" in one
    assert "    return step\n\nf = make()\neager = make()\ncompiled_f = torch.compile(f, fullgraph=True)\n" in one
    assert one.endswith("torch.testing.assert_close(compiled_f(3), eager(3))\n")
    counts = ("count = 0\n", "def step(x):\n    nonlocal count\n    count += 1\n    return x * count\n")
    counted = [replace(call, before=counts) for call in calls]
    one, both = [script.text for script in starts(program(*counted), replace(ASKED, compared=True))]
    assert "    count = 0\n" in one and "f = make()\n" in one and "eager = make()\n" in both


def test_what_several_calls_are_given_is_made_once_and_eager_has_a_copy():
    """A call may change it (a queue, a counter), and the next one is to see that, on either side."""
    arguments = "torch.randn(2, 3), <<net:Config>>(3), [1.0]"
    calls = [replace(OUTER, at=at, arguments=arguments) for at in (1, 2)]
    calls.append(replace(OUTER, at=3, arguments=arguments.replace("1.0", "2.0")))
    *_, several = [script.text for script in starts(program(*calls), replace(ASKED, compared=True))]
    assert several.count("Config(3)\nstate_copy = copy.deepcopy(state)\n") == 1
    last = (
        "x = torch.randn(2, 3)\ny = [2.0]\ny_copy = copy.deepcopy(y)\n"
        "torch.testing.assert_close(compiled_f(x, state, y), eager(x, state_copy, y_copy))\n"
    )
    assert several.endswith(last)


def test_only_what_the_program_compiles_is_compared():
    """A function around it (`main`) is none of the compiler's affair: compiled it would show something else."""
    around = Call(0, "<<net:Config>>", None, None, "3", place=("__main__", 9), compiled=False)
    asked = replace(ASKED, compared=True)
    assert [script.text for script in starts(program(around, OUTER), asked)] == [
        script.text for script in starts(program(OUTER), asked)
    ]
    assert not starts(program(around), asked)


def test_a_call_on_what_nothing_names_is_left_out():
    unknown = Call(1, "<<elsewhere:f>>", None, None, "1", place=("elsewhere", 1))
    assert [script.text for script in starts(program(unknown), ASKED)] == [
        script.text for script in starts(program(), ASKED)
    ]


def test_what_an_object_of_a_packages_class_is_made_by_is_imported():
    given = Call(1, "<<__main__:f>>", None, None, "<<some.package::Config>>(width=3)")
    trace = Trace({"__main__": Module("__main__", "import torch\ndef f(n):\n    return n\n")}, calls=(given,))
    first = starts(trace, ASKED)[0].text
    assert "from some.package import Config\n" in first and "(Config(width=3))" in first


def test_a_function_around_the_compiled_one_is_called_as_it_is():
    text = (
        "import pytest\nimport torch\n@pytest.mark.slow\ndef test_it(n):\n"
        "    f = torch.compile(lambda x: x)\n    f(n)\ndef test_other():\n    pass\n"
    )
    trace = Trace(
        {"test_it": Module("test_it", text)},
        calls=(Call(0, "<<test_it:test_it>>", None, None, "3", place=("test_it", 6), compiled=False),),
    )
    first = starts(trace, ASKED)[0].text
    assert first.endswith("    f(n)\n\ntest_it(3)\n") and "test_other" not in first


def test_a_function_that_its_decorator_compiles_is_not_compiled_once_more():
    text = "import torch\n@torch.compile(fullgraph=True)\ndef f(n):\n    return n\nf(1)\n"
    trace = Trace({"__main__": Module("__main__", text)}, calls=(Call(1, "<<__main__:f>>", None, None, "1"),))
    alone = starts(trace, KnownFailure(1, (CompileCall(None, fullgraph=True),), "eager"))[0].text
    assert alone.count("torch.compile") == 1 and alone.endswith("\nf(1)\n")


def test_a_custom_backend_goes_with_the_call():
    text = (
        "import torch\ndef own(gm, inputs):\n    return gm\ndef f(x):\n    return x\ntorch.compile(f, backend=own)(1)\n"
    )
    trace = Trace(
        {"__main__": Module("__main__", text)},
        calls=(Call(1, "<<__main__:f>>", None, None, "1", place=("__main__", 5)),),
    )
    asked = KnownFailure(1, (CompileCall("own", custom_backend=True),), None)
    assert "compiled = torch.compile(f, backend=own)\n" in starts(trace, asked)[0].text


def test_a_name_that_only_what_was_not_executed_binds_stays_a_local_one():
    text = "def f(a):\n    if a:\n        b, c = a\n    return a and b\nf(0)\n"
    assert executed_part(text, {1, 2, 4, 5}) == text.replace("b, c = a", "b = None")


LINES = (
    "import torch\nfrom settings import LIMIT\n\n\n"
    "class Net(torch.nn.Module):\n"
    "    def forward(self, x, table):\n"
    "        y = x + 1\n"
    "        def scaled(z):\n"
    "            z += 1\n"
    "            if LIMIT:\n"
    "                return table.setdefault(LIMIT, (\n"
    "                    z, y))\n"
    "        return scaled(y)\n"
)


def line_alone(line: int, function: str, **names: str) -> str:
    moments = (Moment(1, function, ("__main__", line), names, grad=False),) if line else ()
    modules = {
        "__main__": Module("__main__", LINES),
        "settings": Module("settings", "LIMIT = 3\n"),
    }
    asked = KnownFailure(1, (CompileCall("inductor", fullgraph=True),), "eager")
    return starts(Trace(modules, moments=moments), asked)[0].text


def test_the_failing_line_is_called_alone_on_what_its_names_stood_for():
    assert line_alone(12, "scaled", z="torch.randn(2)", table="{}", y="torch.ones(1)", unused="1") == (
        "import torch\n\nLIMIT = 3\n\ndef f(table, z, y):\n    return table.setdefault(LIMIT, (\n"
        "        z, y))\n\n"
        "torch.set_grad_enabled(False)\ncompiled = torch.compile(f, fullgraph=True)\n"
        "compiled({}, torch.randn(2), torch.ones(1))\n"
    )
    assert "def f(z):\n    z += 1\n" in line_alone(9, "scaled", z="1")
    assert "def f(x):\n    y = x + 1\n" in line_alone(7, "forward", x="1", self="2")


def test_a_check_that_random_numbers_do_not_pass_is_asked_with_ones():
    moment = Moment(1, "scaled", ("__main__", 9), {"z": "[torch.randn(2, requires_grad=True)]"})
    trace = Trace({"__main__": Module("__main__", LINES)}, calls=(OUTER,), moments=(moment,))
    texts = [script.text for script in starts(trace, ASKED)]
    lines = [text for text in texts if "def f(z)" in text]
    assert ["torch.randn(2" in text for text in lines] == [True, False]
    assert lines[1].endswith("compiled([torch.ones(2, requires_grad=True)])\n")
    assert sum("torch.randn(2" in text for text in texts) == sum("torch.ones(2" in text for text in texts)


HEADS = """\
import torch
def f(lock, pairs):
    with lock:  # held
        # here
        @torch.no_grad
        def g():
            return super()
    if not all(
        torch.equal(a, b) \\
        for a, b in pairs
    ):
        raise ValueError
    while pairs:
        pairs.pop()
    else:
        return 1
    if not pairs:
        raise ValueError
    elif lock:
        return 2
"""


def test_of_a_line_with_others_below_it_they_are_left_out_first():
    """What a `with` holds may be no function of its own, and what an `if` raises no run without a compiler would pass."""

    def alone(line: int) -> str:
        names = {"lock": "torch.nn.Module()", "pairs": "[1]"}
        modules = {"__main__": Module("__main__", HEADS)}
        texts = [
            script.text
            for script in starts(Trace(modules, moments=(Moment(1, "f", ("__main__", line), names),)), ASKED)
        ]
        return texts[0].split("import torch\n\n")[1].split("\ncompiled = ")[0]

    assert alone(3) == "def fn(lock):\n    with lock:\n        pass\n"
    assert alone(13) == "def fn(pairs):\n    while pairs:\n        break\n"
    assert alone(17) == "def fn(pairs):\n    if not pairs:\n        pass\n"
    anew = alone(9).replace("(a, b) in", "a, b in")  # a text that is written anew, which Python 3.10 does otherwise
    assert "all((torch.equal(a, b) for a, b in pairs)):\n        pass\n" in anew


REGISTERED = (
    "class Kind(type):\n    known = {}\n    def __new__(kind, name, *rest):\n"
    "        return kind.known.setdefault(name, super().__new__(kind, name, *rest))\n"
    "class Base(metaclass=Kind):\n    pass\n"
    "class Soft(Base):\n    pass\n"
    "class Other:\n    pass\n"
    "TABLE = {}\n"
    "def put(f):\n    TABLE[f.__name__] = f\n    return f\n"
    "@put\ndef by_name(x):\n    return x\n"
)


@pytest.mark.parametrize(
    ("call", "found"), [("print(Base.known)", {"Kind", "Base", "Soft"}), ("print(TABLE)", {"TABLE", "put", "by_name"})]
)
def test_what_is_found_by_its_name_at_run_time_is_kept(call, found):
    kept = tidy("".join(needed(Script(REGISTERED), call)) + call + "\n")
    assert {name for name in ("Kind", "Base", "Soft", "Other", "TABLE", "put", "by_name") if name in kept} == found


@pytest.mark.parametrize(
    "fake",
    ["@doubled.register_fake", '@doubled.register_kernel("cpu")', '@torch.library.register_fake("own::doubled")'],
)
def test_what_is_registered_for_a_kept_operator_is_kept(fake):
    operator = (
        'import torch\n@torch.library.custom_op("own::doubled", mutates_args=())\ndef doubled(x):\n    return 2 * x\n'
    )
    registered = f"{fake}\ndef _(x):\n    return torch.empty_like(x)\n"
    assert "".join(needed(Script(operator + registered), "doubled(1)\n")) == operator + registered


def test_what_registers_a_class_that_is_needed_is_needed():
    made = "from lib import allow, register, spawn\n\nclass Own:\n    pass\n\nclass Other:\n    pass\n\n"
    made += "def work(x):\n    return x\n\n"
    calls = "register(Own, mark=1)\nallow([Own])\nregister(Other)\nspawn(work)\nprint(Own)\n"
    kept = "".join(needed(Script(made + calls), "work(Own())\n"))
    assert "register(Own, mark=1)\nallow([Own])\n" in kept
    assert not [word for word in ("Other", "spawn(", "print") if word in kept]


def test_nothing_below_the_failing_lines_is_needed():
    text = (
        "def g(x):\n    for n in x:\n        if n:\n            fail(n)\n            x.a()\n        x.b()\n    return x\n\n"
        "def f(x):\n    y = g(x)\n    return y + 1\n\nf(2)\n"
    )
    frames = (Frame("/p/s.py", 90, "f", "y = g(x)"), Frame("/p/s.py", 80, "g", "fail(n)"), Frame("/p/s.py", 1, "f", ""))
    assert without_the_rest(Script(text), frames).text == (
        "def g(x):\n    for n in x:\n        if n:\n            fail(n)\n\ndef f(x):\n    y = g(x)\n\nf(2)\n"
    )
    assert without_the_rest(Script(text), (Frame("/p/s.py", 1, "f", "elsewhere"),)).text == text


def test_a_line_that_nothing_tells_is_no_start():
    plain = line_alone(0, "")
    assert line_alone(7, "elsewhere", x="1") == plain
    assert line_alone(99, "forward", x="1") == plain


def test_frames_around_the_compiled_function():
    outer = (Frame("/p/t.py", 1, "<module>"), Frame("/p/t.py", 9, "train"), Frame("/p/t.py", 5, "step"))
    torch_frame = Frame("/v/site-packages/torch/_dynamo/eval_frame.py", 3, "compile_wrapper")
    inner = (Frame("/p/t.py", 20, "forward"),)
    error = RaisedException("E", "m", (*outer, torch_frame), user_code=inner)
    assert outer_frames(error, failing_frames(error)) == outer[1:]
    assert outer_frames(None, ()) == ()


@pytest.mark.parametrize("entrance", ["_dynamo/eval_frame.py", "autograd/graph.py"])
def test_frames_above_the_entrance_of_a_compiled_function_are_around_it(entrance: str) -> None:
    """No word of the compiler's: `train` only calls what is compiled, or its backward pass, and is not to be compiled itself."""
    outer = (Frame("/p/t.py", 1, "<module>"), Frame("/p/t.py", 9, "train"))
    entered = Frame(f"/v/site-packages/torch/{entrance}", 3, "run")
    inner = Frame("/p/t.py", 20, "forward")
    error = RaisedException("E", "m", (*outer, entered, inner), phase="call")
    assert outer_frames(error, failing_frames(error)) == outer[1:]
    alone = RaisedException("E", "m", (*outer, inner))
    assert outer_frames(alone, failing_frames(alone)) == ()


def test_where_the_compiler_names_no_line_the_compiled_function_is_wanted():
    """An error of AOTAutograd: all frames of the program are around it."""
    around, inner = Frame("/p/t.py", 45, "<module>"), Frame("/p/t.py", 20, "forward")
    error = RaisedException("E", "m", (around,), phase="call")
    assert names_no_compiled_line(error)
    assert names_no_compiled_line(replace(error, inner=replace(error, phase="backward")))
    assert not names_no_compiled_line(replace(error, user_code=(inner,)))
    assert not names_no_compiled_line(replace(error, inner=replace(error, user_code=(inner,))))
    assert not names_no_compiled_line(replace(error, phase="backward"))  # calling it is not enough
    assert not names_no_compiled_line(None)


def test_installed_modules_are_not_local(tmp_path):
    site = tmp_path / "venv" / "site-packages"
    site.mkdir(parents=True)
    for path in (tmp_path / "a.py", site / "b.py"):
        path.write_text("x = 1\n")
    facts = {
        "main": [str(tmp_path / "a.py"), None],
        "argv": [],
        "lines": {str(tmp_path / "a.py"): [1]},
        "modules": {"__main__": [str(tmp_path / "a.py"), False], "b": [str(site / "b.py"), False]},
        "origins": {},
        "calls": [{"function": "f", "at": 1, "why": "a long str"}],
        "files": [str(tmp_path / "a.py")],
    }
    found = read(facts, [tmp_path])
    assert {name: module.local for name, module in found.modules.items()} == {"__main__": True, "b": False}
    assert found.calls == () and found.files == ()


def test_a_program_that_is_no_file_is_a_text_to_start_from():
    """`python -c TEXT`: what it imports is seen to be executed, it itself is not."""
    text = "import m\nm.f(3)\n"
    imported = {"m": Module("m", "def f(x):\n    return x\n")}
    (script,) = starts(with_text(Trace(imported), text), KnownFailure(0, (), None))
    assert script.text == "def f(x):\n    return x\n\nf(3)\n"
    (script,) = starts(with_text(None, "f(3)\n"), KnownFailure(0, (), None))
    assert script.text == "f(3)\n"


def test_what_a_program_executes_that_is_no_module_is_a_text_to_start_from():
    """The cells of a notebook, one by one; what they import of the program's modules is put in front."""
    runs = "import json\nfor cell in json.load(open('a.ipynb')):\n    exec(cell, space)\n"
    modules = {"__main__": Module("__main__", runs), "m": Module("m", "def f(x):\n    return x\n")}
    told = ["import sys\nsys.argv[1:] = ['3']\n"]
    first, with_data, whole = starts(Trace(modules, texts=("import m\nm.f(3)\n",)), KnownFailure(0, (), None), told)
    assert first.text == "def f(x):\n    return x\n\nf(3)\n"
    assert with_data.text.endswith(first.text) and "sys.argv" in with_data.text and "json.load" in whole.text


def test_a_program_that_takes_long_to_start_is_watched_until_it_comes_to_where_it_failed() -> None:
    class Left:
        def left(self) -> float:
            return 400.0

        def spent(self) -> bool:
            return False

    def seconds(failed: float, kind: OutcomeKind = OutcomeKind.EXCEPTION, timeout: float = 300.0) -> float:
        return watched_for(Outcome(kind, seconds=failed), Limit(Left(), 120.0), Left(), timeout)

    assert 119 < seconds(5.0) <= 120
    assert seconds(60.0) == 240 and seconds(90.0) == 300 and seconds(110.0, timeout=1000.0) == 400
    assert seconds(60.0, OutcomeKind.HANG) <= 120  # these are its limit
