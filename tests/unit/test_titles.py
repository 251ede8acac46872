"""The root cause leads: what is wrong inside the compiler before what the program died of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from triage.model.accuracy import Wrongness
from triage.model.own_code import OwnCode
from triage.model.report import (
    Condition,
    Culprit,
    ReportSignature,
    ReportVerdict,
    Reproducer,
    SubsystemSearch,
    TriageReport,
    WayRound,
)
from triage.model.stage import Stage, Symptom
from triage.report.titles import title

VIEW = "view size is not compatible with input tensor's size and stride"
STRIDES: dict[str, Any] = {
    "item": "output 0",
    "kind": "strides",
    "compiled_is": "(2, 1)",
    "eager_is": "(1, 2)",
    "sentence": "output 0: strides are (2, 1) compiled, (1, 2) in eager",
}
VALUES: dict[str, Any] = {
    "item": "output 0",
    "kind": "values",
    "wrong": 12,
    "elements": 16,
    "sentence": "output 0: off by 1.5 compiled, by 3.7e-07 in eager",
    "first_wrong": "aten.exp (train.py:4 in f: x.exp())",
}
DIVERGING: dict[str, Any] = {
    "operation": "aten.exp (train.py:4 in f: x.exp())",
    "result": {"face": "off by 0.2 compiled, by 1e-08 in eager", "wrong": 1, "elements": 4},
}
DIES_IN_ITS_VIEW = TriageReport(
    tool={},
    command=(),
    verdict=ReportVerdict(Symptom.EXCEPTION, Stage.DECOMP_PARTITION),
    signature=ReportSignature("RuntimeError", VIEW, wrong=Wrongness("strides", "output 0")),
    culprit=Culprit("aten.put", "0/0", "decomposition"),
    accuracy=STRIDES,
)
WRONG = replace(
    DIES_IN_ITS_VIEW,
    verdict=ReportVerdict(Symptom.WRONG_RESULT, Stage.INDUCTOR),
    culprit=Culprit("aten.sum", "0/0", "lowerings"),
    accuracy=VALUES,
)
HANG = replace(
    DIES_IN_ITS_VIEW,
    verdict=ReportVerdict(Symptom.HANG, Stage.INDUCTOR),
    signature=ReportSignature(
        "hang", "lowering of the forward graph 0/0", hangs_in="torch/_inductor/sizevars.py:simplify"
    ),
    culprit=None,
    accuracy=None,
)
TORCHS = 'Stack when it ended (most recent call last):\n  File "torch/__init__.py", line 2568, in __call__\n'
OWN_HANG = replace(
    HANG,
    verdict=ReportVerdict(Symptom.HANG, Stage.BACKEND),
    signature=ReportSignature(
        "hang",
        "lowering of the forward graph 0/0",
        hangs_in="torch/__init__.py:__call__",
        excerpt=f'{TORCHS}  File "nets/never.py", line 8, in simplified\nNo end within 25 s while compiling',
    ),
)
BACKEND = OwnCode("backend", "never.py:3", "never.py:3 in never: def never(gm, inputs)", raised=False, needed=True)

LAZY = replace(
    HANG,
    verdict=ReportVerdict(Symptom.CRASH, Stage.INDUCTOR),
    signature=ReportSignature("SIGSEGV", "run graph 0/0"),
    conditions=(Condition("an input is a lazy zero", "with no lazy zero it passes"),),
)
DYNAMOS = replace(
    WRONG, verdict=ReportVerdict(Symptom.WRONG_RESULT, Stage.DYNAMO), culprit=None, accuracy=None, signature=None
)
NOTICED = replace(
    DYNAMOS,
    verdict=ReportVerdict(Symptom.EXCEPTION, Stage.DYNAMO),
    signature=replace(HANG.signature, exception_type="ValueError", message="16 people counted, 240 came", noticed=True),
)
JVP = Reproducer(
    "repro.py", True, 3, True, "source", "native", None, 9, 1, 1.0, False, runs=3, features=("torch.func.jvp",)
)
PUSH = WayRound("Decorate `Controller.push` (script.py:13) with `@torch.compiler.disable`", "function", "script.py:13")


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (DIES_IN_ITS_VIEW, "`aten.put`: decomposition returns strides (2, 1), eager (1, 2)"),
        (
            replace(DIES_IN_ITS_VIEW, culprit=Culprit("aten.put", None, "lowerings")),
            "[decomp] `aten.put`: compiled code returns strides (2, 1), eager (1, 2)",
        ),
        (
            replace(DIES_IN_ITS_VIEW, accuracy={**STRIDES, "item": "gradient of x"}),
            "`aten.put`: decomposition returns strides (2, 1), eager (1, 2) (gradient of x)",
        ),
        (  # the strides are those of what another operation makes of it
            replace(DIES_IN_ITS_VIEW, accuracy={**STRIDES, "made_by": "aten.add"}),
            "[decomp] `aten.put`: other strides than in eager",
        ),
        (
            replace(DIES_IN_ITS_VIEW, accuracy={**STRIDES, "made_by": "aten.put"}),
            "`aten.put`: decomposition returns strides (2, 1), eager (1, 2)",
        ),
        (WRONG, "[inductor] `aten.exp`: off by 1.5 compiled, by 3.7e-07 in eager, in 12 of 16 elements"),
        (replace(WRONG, accuracy={**VALUES, "made_by": "aten.mean"}), "[inductor] `aten.exp`: wrong values"),
        (
            replace(
                WRONG, accuracy={**VALUES, "item": "result of aten.exp", "sentence": "result of aten.exp: off by 1"}
            ),
            "[inductor] `aten.exp`: off by 1, in 12 of 16 elements",
        ),
        (
            replace(WRONG, accuracy={**VALUES, "made_by": "aten.mean", "first_diverging": DIVERGING}),
            "[inductor] `aten.exp`: off by 0.2 compiled, by 1e-08 in eager, in 1 of 4 elements",
        ),
        (replace(WRONG, accuracy={}), "[inductor] `aten.sum`: wrong result under torch.compile"),
        (HANG, "[inductor] torch.compile does not finish while compiling, in torch/_inductor/sizevars.py:simplify"),
        (replace(HANG, signature=None), "[inductor] torch.compile does not finish"),
        (
            replace(OWN_HANG, own_code=BACKEND),
            "[custom backend] torch.compile does not finish while compiling, in never.py:simplified",
        ),
        (replace(WRONG, own_code=BACKEND), "Fails because of your backend, never.py:3"),
        (OWN_HANG, "[custom backend] torch.compile does not finish while compiling, in never.py:simplified"),
        (
            replace(OWN_HANG, signature=replace(OWN_HANG.signature, excerpt=TORCHS)),
            "[custom backend] torch.compile does not finish while compiling, in torch/__init__.py:__call__",
        ),
        # Dynamo's wrong results have no operation: what the reproducer uses, else the function to blame.
        (replace(DYNAMOS, reproducer=JVP), "[dynamo] wrong result under torch.compile with torch.func.jvp"),
        (replace(NOTICED, reproducer=JVP), "[dynamo] wrong result under torch.compile with torch.func.jvp"),
        (NOTICED, "[dynamo] ValueError: 16 people counted, 240 came"),
        (
            replace(NOTICED, subsystem=SubsystemSearch(("guards",)), ways_round=(PUSH,)),
            "[dynamo] wrong result where a compiled graph is used again (guards), right where Controller.push is not compiled",
        ),
        (
            replace(DYNAMOS, reproducer=replace(JVP, verified=False), ways_round=(PUSH,)),
            "[dynamo] wrong result under torch.compile, right where Controller.push is not compiled",
        ),
        (
            replace(DYNAMOS, subsystem=SubsystemSearch(("guards",)), ways_round=(PUSH,)),
            "[dynamo] wrong result where a compiled graph is used again (guards), right where Controller.push is not compiled",
        ),
        (
            replace(
                DYNAMOS,
                ways_round=(PUSH,),
                conditions=(Condition("the shapes are dynamic", "with dynamic=False it passes"),),
            ),
            "[dynamo] wrong result under torch.compile, where the shapes are dynamic",
        ),
        (replace(DYNAMOS, ways_round=(replace(PUSH, kind="backend"),)), "[dynamo] wrong result under torch.compile"),
        # With any operation, and with some inputs only.
        (LAZY, "[inductor] SIGSEGV while running compiled code, where an input is a lazy zero"),
        (
            replace(LAZY, culprit=Culprit("aten.mul", None, None)),
            "[inductor] `aten.mul`: SIGSEGV while running compiled code",
        ),
        # Nothing is known to be wrong in a result: the error itself is all there is.
        (
            replace(DIES_IN_ITS_VIEW, signature=ReportSignature("RuntimeError", VIEW)),
            f"[decomp] `aten.put`: RuntimeError: {VIEW}",
        ),
    ],
)
def test_what_is_told_first(report: TriageReport, says: str) -> None:
    assert title(report) == says


@pytest.mark.parametrize(
    ("message", "line", "told"),
    [
        ("", "train.py:24 in <module>: assert torch.equal(a, b)", "AssertionError: assert torch.equal(a, b)"),
        ("", "train.py:24 in check: assert d[k] == {1: 2}, k", "AssertionError: assert d[k] == {1: 2}, k"),
        ("", "train.py:24 in check: self.fail()", "AssertionError"),
        ("they differ", "train.py:24 in <module>: assert same", "AssertionError: they differ"),
    ],
)
def test_an_assertion_without_a_message_is_told_by_its_statement(message: str, line: str, told: str) -> None:
    signature = ReportSignature("AssertionError", message, user_line=line)
    found = replace(DIES_IN_ITS_VIEW, signature=signature, culprit=None, accuracy=None)
    assert title(found) == f"[decomp] {told}"


def test_a_hang_of_a_backend_is_told_by_where_it_hangs() -> None:
    assert title(replace(OWN_HANG, own_code=BACKEND)) == title(OWN_HANG)


def test_a_call_with_fake_tensors_is_told_by_what_it_raised() -> None:
    message = (
        "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: "
        "call_function <built-in function add>(*(FakeTensor(..., size=(2,)), FakeTensor(..., size=(2, 4))), **{}): "
        "got RuntimeError('Attempting to broadcast a dimension of length 4 at -1!')"
    )
    signature = ReportSignature("TorchRuntimeError", message)
    found = replace(DIES_IN_ITS_VIEW, signature=signature, culprit=None, accuracy=None)
    assert title(found).endswith("TorchRuntimeError: Attempting to broadcast a dimension of length 4 at -1!")
