"""A comment for the thread of an issue: what it says first, what it counts, and what it leaves out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from triage.model.own_code import Finding
from triage.model.report import (
    Condition,
    Control,
    Culprit,
    KnownCause,
    LadderRow,
    ReportSignature,
    ReportVerdict,
    Reproducer,
    TriageReport,
    WayRound,
)
from triage.model.stage import Stage, Symptom
from triage.report.formats import render
from triage.report.limits import ISSUE_LIMIT, issue_size
from triage.report.sources import Sources

PARSER = MarkdownIt("commonmark").enable("table")
HUGE = "`` ``` </details> @someone #1 | word " * 4000
CODE = Sources(reproducer='import torch\n\nprint("""```""")\n')
BUG = TriageReport(
    tool={"name": "triage", "version": "0.1.0"},
    command=("python", "secret_project/train.py"),
    verdict=ReportVerdict(Symptom.EXCEPTION, Stage.INDUCTOR, "forward", "eager passes, inductor fails", 3, 3),
    signature=ReportSignature(
        "LoweringException", "no lowering for aten.foo", (), "ab12", user_line="train.py:31 in forward: y = f(x)"
    ),
    ladder=(
        LadderRow("uncompiled", "script", "ok", 1.0),
        LadderRow("aot_eager", "script", "ok", 1.0),
        LadderRow("inductor", "script", "exception", 2.0, "same"),
        LadderRow("inductor", "script", "crash (SIGSEGV)", 2.0, "other"),
    ),
    culprit=Culprit("aten.foo", "0/0", "lowerings"),
    reproducer=Reproducer(
        "repro.py", True, 3, True, "graph", "native", 1, 9, 15, 12.7, True, control=Control("aot_eager", "ok"), runs=3
    ),
    environment={"torch": "2.13.0+cpu", "python": "3.11.7"},
)


def comment(report: TriageReport = BUG, sources: Sources = CODE) -> str:
    return render(report, "comment", sources)


def first_words(report: TriageReport) -> str:
    return comment(report).splitlines()[0]


def test_a_comment_has_no_form() -> None:
    text = comment()
    assert "###" not in text and "Describe the bug" not in text and "YOUR OWN WORDS" not in text
    assert text.count("<!--") == 1


def test_it_counts_what_was_run() -> None:
    assert "Fails in 3 of 3 fresh processes on torch 2.13.0+cpu; passes with `aot_eager`.\n" in comment()
    made = replace(BUG.reproducer, verified=False, verified_runs=1, note=None)
    assert "**NOT verified.** It failed the same way in 1 of 3 runs." in comment(replace(BUG, reproducer=made))
    other = replace(BUG.reproducer, same_signature=False)
    assert "NOT with the error of this report" in comment(replace(BUG, reproducer=other))


def test_the_reproducer_is_there_to_the_letter_in_a_longer_fence() -> None:
    fences = [token for token in PARSER.parse(comment()) if token.type == "fence" and token.info == "python"]
    assert [token.content for token in fences] == [CODE.reproducer]
    assert len(fences[0].markup) == 4


def test_the_ladder_is_a_line() -> None:
    line = "- **Tried:** uncompiled passes, `aot_eager` passes, `inductor` **fails**, then crashes (SIGSEGV), another error\n"
    assert line in comment()
    ladder = (*BUG.ladder[:1], LadderRow("inductor", "graph", "exception", 0.3, "same"))
    told = "- **Tried:** the script: uncompiled passes; its captured graph: `inductor` **fails**\n"
    assert told in comment(replace(BUG, ladder=ladder))
    assert "Tried" not in comment(replace(BUG, ladder=(LadderRow("inductor", "script", "not_run", 0.0),)))


def test_what_is_needed_what_is_not_and_since_when() -> None:
    text = comment(
        replace(
            BUG,
            conditions=(Condition("a size of 1", "passes with 2"), Condition("float16", "passes with float32")),
            indifferent=("the values",),
            ways_round=(WayRound("Call x.contiguous() first", "call"),),
            workarounds=("dynamic=True", 'torch.compile(..., backend="eager")'),
            regression={"last_good": "2.8.0", "first_bad": "2.9.0"},
        )
    )
    assert "- **All of it is needed:**\n  - a size of 1 (passes with 2)\n  - float16 (passes with float32)\n" in text
    assert "- **Does not matter:** the values\n" in text
    assert "- **Gone with:** Call x.contiguous() first; dynamic=True\n" in text
    assert "- **Regression:** last good torch `2.8.0`, first bad torch `2.9.0`\n" in text


def test_nothing_of_the_users_program_is_told() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "train.py", line 31, in forward\n    y = f(x)\nLoweringException: x'
    )
    text = comment(replace(BUG, signature=replace(BUG.signature, frames=("torch/a.py:b",), excerpt=trace)))
    assert "LoweringException: no lowering for aten.foo\n    at torch/a.py:b\n" in text
    assert "train.py" not in text and "secret_project" not in text and "y = f(x)" not in text


OWN = Finding(
    title="the fake kernel of `a::b` raises",
    because="It says so.",
    cure="Correct nms.py:9.",
    place="nms.py:9",
    explains=True,
)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "**Reproduced:** [inductor] `aten.foo`: LoweringException: no lowering for aten.foo"),
        (
            {"verdict": ReportVerdict(Symptom.EXCEPTION, Stage.SCRIPT)},
            "**Not a bug of torch.compile:** the script fails",
        ),
        ({"verdict": ReportVerdict()}, "**Not reproduced:** no failure was seen on torch 2.13.0+cpu."),
        ({"verdict": ReportVerdict(), "complete": False}, "**Not reproduced so far:** no failure was seen"),
        ({"verdict": ReportVerdict(Symptom.ROUNDING)}, "**Rounding, and not a bug of the compiler:**"),
        ({"findings": (OWN,)}, "**Not a bug of PyTorch:** the fake kernel of `a::b` raises. It says so. Correct"),
        (
            {"known_cause": KnownCause("x", "g++ is missing.", "Install it.", "docs")},
            "**Not a bug of the compiler:** g++ is missing. Install it. (docs)",
        ),
        (
            {"verdict": ReportVerdict(Symptom.WRONG_RESULT), "accuracy": {"unsteady": ["output 0"]}},
            "**No bug of the compiler is shown:** eager's own result",
        ),
        (
            {"verdict": ReportVerdict(Symptom.NONDETERMINISTIC, Stage.NONE, compares_random=True)},
            "**Not a bug of the compiler:** the script's own check compares random numbers",
        ),
        (
            {"verdict": ReportVerdict(Symptom.NONDETERMINISTIC, Stage.NONE, None, "", 5, 2), "reproducer": None},
            "**Reproduced, but not every time:** 2 of 5 runs",
        ),
    ],
)
def test_the_first_sentence_says_what_it_is(changes: dict[str, object], says: str) -> None:
    assert first_words(replace(BUG, **changes)).startswith(says)


def test_a_missing_reproducer_says_why() -> None:
    text = comment(replace(BUG, reproducer=None, reproducer_note="the graph holds an opaque object"))
    assert "No reproducer: the graph holds an opaque object" in text


def test_it_fits_a_comment_whatever_the_texts_are() -> None:
    big = replace(
        BUG,
        signature=ReportSignature("E" * 9000, HUGE, (HUGE,) * 50, HUGE, HUGE, HUGE),
        ladder=tuple(LadderRow(f"rung {number} {HUGE}", HUGE, HUGE, 1.0, HUGE, HUGE) for number in range(80)),
        workarounds=(HUGE,) * 50,
        ways_round=(WayRound(HUGE, "call"),) * 50,
        conditions=(Condition(HUGE, HUGE),) * 50,
        indifferent=(HUGE,) * 50,
        culprit=Culprit(HUGE, HUGE, HUGE, HUGE),
        environment={HUGE: HUGE, "torch": HUGE},
        reproducer=replace(BUG.reproducer, note=HUGE, verified=False),
        regression={"last_good": HUGE, "first_bad": HUGE},
        incomplete_reason=HUGE,
        complete=False,
    )
    text = comment(big, Sources(HUGE, HUGE, HUGE))
    assert issue_size(text) < ISSUE_LIMIT
    assert "characters cut here" in text
    for token in PARSER.parse(text):
        for child in token.children or []:
            assert "@" not in child.content or child.type == "code_inline", child.content[:80]
