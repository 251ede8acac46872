"""A program that only prints what is wrong: what its candidates print is compared, and the final text ends in a comparison."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from triage.judge.comparison import PrintedOracle, SameNumbers
from triage.judge.judgement import CandidateResult
from triage.judge.oracle import SignatureOracle
from triage.judge.printed import as_wrong, judged_beside
from triage.judge.signature import signature_of
from triage.model.outcome import AgentNotes, Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind, Verdict
from triage.probe.launch import Cancel
from triage.reduce.text.checks.runners import PrintedRunner
from triage.reduce.text.code.script import Script
from triage.reduce.text.finish.prints import compared_at_the_end
from triage.trial.pool import PooledRunner, Query

RIGHT, WRONG = "step 0: loss 0.25\n", "step 0: loss 1.13\n"


def ended(printed: str, kind: OutcomeKind = OutcomeKind.OK) -> CandidateResult:
    return CandidateResult(Outcome(kind, 1.0, 0), AgentNotes(), None, True, printed=printed)


FAILS = as_wrong(ended(WRONG), "it prints `1` where the uncompiled run prints `2`")


class Prints(PooledRunner):
    """Prints this compiled, and those in turn uncompiled."""

    def __init__(self, compiled: str, uncompiled: Sequence[str]) -> None:
        super().__init__(1)
        self.compiled, self.uncompiled = compiled, list(uncompiled)

    def _run_one(self, query: Query, cancel: Cancel) -> CandidateResult:
        return ended(self.uncompiled.pop(0) if query.rung == "uncompiled" else self.compiled)


@pytest.mark.parametrize(
    ("compiled", "uncompiled", "kind"),
    [
        (WRONG, [RIGHT, RIGHT], OutcomeKind.WRONG_RESULT),
        (RIGHT, [RIGHT], OutcomeKind.OK),
        (WRONG, [RIGHT, "step 0: loss 0.61\n"], OutcomeKind.OK),  # random
        (WRONG, [RIGHT, RIGHT * 2], OutcomeKind.OK),  # and so is how often
        ("took 0.5 s\n", [], OutcomeKind.OK),  # nothing that tells a result
    ],
)
def test_what_passes_and_prints_other_numbers_than_two_uncompiled_runs_is_a_wrong_result(
    compiled: str, uncompiled: list[str], kind: OutcomeKind
) -> None:
    inner = Prints(compiled, uncompiled)
    found = PrintedRunner(inner).run("print(1)", rung="eager")
    assert (found.outcome.kind, inner.uncompiled) == (kind, [])
    if kind is OutcomeKind.WRONG_RESULT:
        assert "`step 0: loss 1.13` where the uncompiled run prints `step 0: loss 0.25`" in found.signature.message


def test_fresh_processes_must_print_alike() -> None:
    def failed(*printed: str, uncompiled: str = RIGHT) -> int:
        results = judged_beside([ended(each) for each in printed], ended(uncompiled))
        return sum(result.outcome.failed for result in results)

    assert failed(WRONG, WRONG, WRONG) == 3
    assert failed(WRONG, WRONG, "step 0: loss 0.61\n") == 0
    assert failed(WRONG, WRONG, RIGHT) == 0
    assert failed(RIGHT, RIGHT, RIGHT) == 0


def test_whatever_is_printed_otherwise_is_the_failure() -> None:
    """A reduction changes what is printed: the words are others, as the numbers are."""
    assert FAILS.signature is not None
    oracle = PrintedOracle(FAILS.signature)
    other = as_wrong(ended(WRONG), "it prints `0.3` where the uncompiled run prints `0.4`")
    assert oracle.judge(other).verdict is Verdict.SAME_FAILURE
    assert oracle.judge(ended(RIGHT)).verdict is Verdict.NO_FAILURE
    assert oracle.judge(ended("", OutcomeKind.CRASH)).verdict is Verdict.UNRESOLVED


@pytest.mark.parametrize(
    ("script", "candidate", "same"),
    [
        (("0.82", "0.0"), ("nan", "0.0"), False),  # rows that a smaller mask hides as a whole
        (("nan", "0.0"), ("0.3", "0.0"), False),
        (("nan", "0.0"), ("nan", "0.5"), True),
        (("0.82 inf", "0.0 inf"), ("0.3", "0.0"), True),  # what both print is not what is wrong
        (("0.82", "0.0"), ("inf nan 0.3", "inf nan 0.0"), True),
    ],
)
def test_a_number_that_is_none_is_another_failure(
    script: tuple[str, str], candidate: tuple[str, str], same: bool
) -> None:
    def wrong(pair: tuple[str, str]) -> CandidateResult:
        return as_wrong(ended(WRONG), f"it prints `drift {pair[0]}` where the uncompiled run prints `drift {pair[1]}`")

    signature = wrong(script).signature
    assert signature is not None
    assert PrintedOracle(signature).fails(wrong(candidate)) is same


def test_the_final_text_compares_what_it_printed() -> None:
    text = (
        'import torch\n\ndef main():\n    for step in range(2):\n        print(f"step {step}: {f(step):.3f}", f(step).item())\n'
        "        print('done')\n\nmain()\n"
    )
    asked: list[str] = []

    def uncompiled(text: str) -> str:
        asked.append(text)
        return "done\n[0.5, 0.5, 1.5, 1.5]\n"

    one, other, both = itertools.islice(compared_at_the_end(Script(text), uncompiled), 3)
    assert "    printed.append(float(f(step)))\n" in one.text and "    printed.append(f(step).item())\n" in other.text
    assert both.text == (
        "import torch\n\nprinted = []\ndef main():\n    for step in range(2):\n"
        "        printed.extend([float(f(step)), f(step).item()])\n        print('done')\n\nmain()\n"
        "torch.testing.assert_close(printed, [0.5, 0.5, 1.5, 1.5], rtol=0.01, atol=0.0001)\n"
    )
    assert asked[0].endswith("main()\nprint(printed)\n")


def test_values_are_compared_without_the_words_around_them() -> None:
    text = "import torch\nprint('epoch %d of %s: loss %.3f' % (1, name(), f(1)))\nprint('%5.1f%%' % g(2))\n"
    *_, both = itertools.islice(compared_at_the_end(Script(text), lambda text: "[0.5, 62.0]\n"), 3)
    assert both.text.startswith(
        "import torch\nprinted = []\nprinted.append(float(f(1)))\nprinted.append(float(g(2)))\n"
    )


def test_words_are_compared_as_they_are() -> None:
    text = "import torch\nfor x in range(2):\n    print(f(x), 'of', g(x))\n"
    found = list(compared_at_the_end(Script(text), lambda text: None if "float(" in text else "[3, 'dog', 4, 'cat']\n"))
    assert [script.text for script in found] == [
        f"import torch\nprinted = []\nfor x in range(2):\n    printed.{added}\nassert printed == [3, 'dog', 4, 'cat']\n"
        for added in ("append(f(x))", "append(g(x))", "extend([f(x), g(x)])")  # one that is wrong says it best
    ]


def test_flags_are_compared_as_flags() -> None:
    said = {"float(": "[1.0]\n", "on()": "[True]\n"}
    text = "import torch\nprint('on:', on())\n"
    found = compared_at_the_end(Script(text), lambda text: next(told for word, told in said.items() if word in text))
    assert [script.text.splitlines()[-1] for script in found] == ["assert printed == [True]"]


def test_the_comparison_that_was_added_is_the_failure() -> None:
    def failed(*frames: Frame) -> CandidateResult:
        error = RaisedException("AssertionError", "", frames=frames)
        outcome = Outcome(OutcomeKind.EXCEPTION, exception=error)
        return CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled=True)

    assert FAILS.signature is not None
    oracle = PrintedOracle(FAILS.signature)
    at_the_end, within = Frame("repro.py", 9, "<module>"), Frame("repro.py", 4, "check")
    assert oracle.fails(failed(at_the_end))
    assert not oracle.fails(failed(at_the_end, within))


def test_the_list_of_values_takes_no_name_of_the_script() -> None:
    text = "import torch\ndef main():\n    printed = f(1)\n    print(printed.item())\nmain()\n"
    first = next(compared_at_the_end(Script(text), lambda text: "[0.5]\n"))
    assert "    printed2.append(printed.item())\n" in first.text


@pytest.mark.parametrize("said", [None, "", "[nan]\n", "[tensor(1.)]\n", "loss 0.5\n"])
def test_without_numbers_of_the_uncompiled_run_nothing_is_compared(said: str | None) -> None:
    assert not list(compared_at_the_end(Script("import torch\nprint(f(1).item())\n"), lambda text: said))


def test_a_check_of_the_scripts_own_sees_no_nan_where_it_saw_a_number() -> None:
    def failed(distance: str) -> CandidateResult:
        message = f"Tensor-likes are not close!\n\nGreatest absolute difference: {distance} at index (0,) (up to 1e-05 allowed)"
        outcome = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("AssertionError", message))
        return CandidateResult(outcome, AgentNotes(), signature_of(outcome), compiled=True)

    for script, candidate, same in (("0.3", "0.5", True), ("0.3", "nan", False), ("nan", "nan", True)):
        signature = failed(script).signature
        assert signature is not None
        oracle = SameNumbers(SignatureOracle(signature), signature)
        assert (oracle.judge(failed(candidate)).verdict is Verdict.SAME_FAILURE) is same
