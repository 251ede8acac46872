"""What decides whether a program's own statement raises is read off its text, and must stay in every candidate."""

from __future__ import annotations

import textwrap

import pytest

from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.reduce.text.checks.guards import guarded
from triage.reduce.text.checks.reached import own_failure, own_frames
from triage.reduce.text.code.script import Script

RAISES = 'raise RuntimeError("cannot run relu")'


def is_guarded(text: str, words: frozenset[str] | None = frozenset()) -> bool:
    """Whether the line with the message, and the line that calls `fail(`, if there is one, are under a condition."""
    text = textwrap.dedent(text).replace("NODES", "gm.graph.nodes").replace("RAISES", RAISES)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "fail(" in line and "def " not in line]
    lines += [number for number, line in enumerate(text.splitlines(), 1) if RAISES in line or "assert" in line]
    return guarded([(Script(text), line) for line in lines], words)


@pytest.mark.parametrize(
    "body",
    [
        'for node in gm.graph.nodes:\n        if "relu" in str(node.target):\n            RAISES',
        'for node in gm.graph.nodes:\n        if "relu" not in node.name:\n            continue\n        RAISES',
        'if not any(node.op == "relu" for node in gm.graph.nodes):\n        return gm\n    RAISES',
        'for node in [n for n in gm.graph.nodes if n.op == "relu"]:\n        RAISES',
        'bad = [n for n in gm.graph.nodes if n.op == "relu"]\n    if bad:\n        RAISES',
        'found = False\n    for n in NODES:\n        if n.op == "relu":\n            found = True\n    if found:\n        RAISES',
        "count = len(gm.graph.nodes)\n    while count > 3:\n        RAISES",
        "match gm.kind:\n        case 1:\n            RAISES",
        "try:\n        return run(gm)\n    except KeyError:\n        RAISES",
        "try:\n        return run(gm)\n    except KeyError:\n        pass\n    RAISES",
        'for n in gm.graph.nodes:\n        if n.op == "relu":\n            break\n    else:\n        return gm\n    RAISES',
        'for n in gm.graph.nodes:\n        if n.op == "relu":\n            break\n    else:\n        RAISES',
        "assert len(gm.graph.nodes) < 3",
    ],
)  # fmt: skip
def test_what_hangs_on_an_argument_is_a_condition(body: str) -> None:
    assert is_guarded(f"def backend(gm, inputs):\n    {body}\n")


@pytest.mark.parametrize(
    "body",
    [
        "RAISES",
        "if True:\n        RAISES",
        "if 1 == 1:\n        RAISES",
        "if not False:\n        RAISES",
        "if gm is gm:\n        RAISES",
        "if gm:\n        RAISES",
        "if gm.graph:\n        RAISES",
        "if gm == 1 or True:\n        RAISES",
        "while True:\n        RAISES",
        "for node in gm.graph.nodes:\n        RAISES",
        "for node in gm.graph.nodes:\n        if node.op:\n            RAISES",
        "for node in gm.graph.nodes:\n        if str(node.target):\n            RAISES",
        "for node in gm.graph.nodes:\n        if node.op == 'output':\n            break\n    RAISES",
        "kind = torch.ones(1)\n    if kind != 2:\n        RAISES",
        "try:\n        {}[1]\n    except KeyError:\n        RAISES",
        "match gm:\n        case _:\n            RAISES",
        "def inner(n):\n        if n == 1:\n            return 2\n    RAISES",
        "assert False",
        "assert not gm",
    ],
)  # fmt: skip
def test_what_is_reached_by_every_program_is_none(body: str) -> None:
    assert not is_guarded(f"def backend(gm, inputs):\n    {body}\n")


def test_a_condition_may_stand_where_the_function_is_called() -> None:
    text = """
    def fail():
        RAISES

    def backend(gm, inputs):
        if {test}:
            fail()
    """
    assert is_guarded(text.format(test="len(gm.graph.nodes) > 3"))
    assert not is_guarded(text.format(test="gm"))


def test_a_function_of_the_programs_own_must_itself_decide() -> None:
    text = """
    def bad(gm):
        return {answer}

    def backend(gm, inputs):
        if bad(gm):
            RAISES
    """
    assert is_guarded(text.format(answer='any("relu" in n.name for n in gm.graph.nodes)'))
    assert not is_guarded(text.format(answer="True"))
    assert not is_guarded(text.format(answer="gm"))


def test_only_what_the_program_asks_for_being_true_may_be_asked_for() -> None:
    text = "def fake(x):\n    if x.is_cuda:\n        RAISES\n"
    assert is_guarded(text, None)
    assert is_guarded(text, frozenset({"is_cuda"}))
    assert not is_guarded(text, frozenset({"is_sparse"}))


def test_a_check_at_the_end_of_a_script_compares_what_was_computed() -> None:
    assert is_guarded("out = torch.compile(f)(x)\nassert torch.equal(out, f(x))\n", frozenset({"equal"}))
    assert is_guarded("out = torch.compile(f)(x)\nif (out - f(x)).abs().max() > 1e-3:\n    RAISES\n")
    assert not is_guarded("out = torch.compile(f)(x)\nassert 1 == 2\n")
    assert not is_guarded("out = torch.compile(f)(x)\nRAISES\n")


def raised(*lines: int, file: str = "/home/me/train.py") -> Outcome:
    frames = [Frame("/x/site-packages/torch/_dynamo/output_graph.py", 7, "call"), *(Frame(file, n, "f") for n in lines)]
    inner = RaisedException("RuntimeError", "cannot run relu", tuple(frames))
    outer = RaisedException("torch._dynamo.exc.BackendCompilerFailed", "backend raised", (), inner)
    return Outcome(OutcomeKind.EXCEPTION, exception=outer)


BACKEND = f"def backend(gm, inputs):\n    if gm.kind == 1:\n        {RAISES}\n    return gm.forward\n"


def test_a_candidate_without_the_condition_is_told_from_one_with_it() -> None:
    own = own_failure(raised(3), {"/home/me/train.py": BACKEND})
    there = "/tmp/triage-x/1/cwd/repro.py"
    assert not own.is_reached_anyway(BACKEND, raised(3, file=there))
    assert own.is_reached_anyway(f"def backend(gm, inputs):\n    {RAISES}\n", raised(2, file=there))
    assert not own.is_reached_anyway(BACKEND, raised())


def test_a_program_that_always_raises_may_go_on_to() -> None:
    assert own_failure(raised(2), {"/home/me/train.py": f"def backend(gm, inputs):\n    {RAISES}\n"}) is None
    assert own_failure(raised(4), {"/home/me/train.py": BACKEND}) is None
    assert own_failure(Outcome(OutcomeKind.CRASH), {}) is None


def hung(*lines: int, file: str = "/home/me/train.py", inner: str = "") -> Outcome:
    """The stacks of a process whose backend is in one of these lines, the innermost first."""
    told = [f'  File "{file}", line {line} in backend' for line in lines]
    stacks = [
        "Timeout (0:00:10)!",
        "Thread 0x1 (most recent call first):",
        '  File "/lib/python3.11/queue.py", line 2 in get',
    ]
    stacks += ["", "Thread 0x2 (most recent call first):", *([inner] if inner else []), *told]
    stacks += ['  File "/x/site-packages/torch/_dynamo/output_graph.py", line 7 in call_user_compiler']
    return Outcome(OutcomeKind.HANG, stacks="\n".join([*stacks, '  File "/home/me/train.py", line 30 in <module>', ""]))


PASS = """
def backend(gm, inputs):
    changed = True
    while changed:
        changed = False
        for node in gm.graph.nodes:
            if "relu" in node.name:
                changed = True
    return gm.forward
"""


def test_where_a_hang_is_the_programs_own_is_told_by_its_stacks() -> None:
    inner = '  File "/x/site-packages/torch/fx/graph.py", line 3 in lint'
    assert [frame.line for frame in own_frames(hung(6, inner=inner))] == [6]
    assert own_frames(Outcome(OutcomeKind.HANG, stacks="")) == ()
    torchs_own = 'Thread 0x1 (most recent call first):\n  File "/x/site-packages/torch/_dynamo/f.py", line 1 in f\n'
    assert (
        own_frames(Outcome(OutcomeKind.HANG, stacks=f'{torchs_own}  File "/home/me/train.py", line 2 in <module>'))
        == ()
    )


def test_a_loop_of_the_programs_own_keeps_what_decides_over_it() -> None:
    own = own_failure(hung(6), {"/home/me/train.py": PASS})
    there = "/tmp/triage-x/1/cwd/repro.py"
    assert not own.is_reached_anyway(PASS, hung(7, file=there))
    always = "def backend(gm, inputs):\n    while True:\n        gm.graph.lint()\n"
    assert own.is_reached_anyway(always, hung(3, file=there))
    assert own_failure(hung(3), {"/home/me/train.py": always}) is None
    kept = (
        "def backend(gm, inputs):\n    while any(n.name == 'relu' for n in gm.graph.nodes):\n        gm.graph.lint()\n"
    )
    assert not own.is_reached_anyway(kept, hung(3, file=there))
