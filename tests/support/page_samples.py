"""A report, an explanation, a bisection and a sweep with something of everything that their pages show."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from triage.model.bisection import Bisection, Commit, CommitWindow, Kind, Standing, TestedVersion
from triage.model.codec import decode
from triage.model.explanation import (
    CompileTime,
    Explanation,
    FusedTime,
    GraphBreak,
    GraphTime,
    Interval,
    ModeRow,
    Profile,
    ProfiledOperation,
    ProfiledStep,
    Recompilation,
    SourceLine,
)
from triage.model.report import TriageReport
from triage.model.sweep import Cluster, Fate, ScriptResult, SweepReport
from triage.report.bisection import bisection_html
from triage.report.explanation_html import explanation_html
from triage.report.formats import render
from triage.report.graph_picture import Drawn
from triage.report.reduced_graph import drawn_of
from triage.report.sources import Sources
from triage.report.sweep_html import sweep_html
from triage.report.timeline import Span

GOLDEN = Path(__file__).parents[1] / "golden" / "inductor_exception"
LINE = "train.py:24 in <module>: chead(rois2).backward()"
REPRODUCER = (GOLDEN / "repro.py").read_text(encoding="utf-8")


def everything() -> tuple[TriageReport, Sources]:
    """A report whose page has every picture and table."""
    tree = json.loads((GOLDEN / "report.json").read_text(encoding="utf-8"))
    tree |= {
        "conditions": [{"condition": "a batch of 0", "shown_by": "a batch of 1 passes"}],
        "indifferent": ["the values of the weights"],
        "ways_round": [
            {
                "change": "Pass `dynamic=True`",
                "kind": "argument",
                "patch": "workaround.patch",
                "cost": "1 ms a call more",
            }
        ],
        "subsystem": {"names": ["lowerings"], "rows": [{"subsystem": "lowerings", "outcome": "ok", "seconds": 0.2}]},
        "accuracy": {"kind": "values", "eager": 0.25, "compiled": "nan", "exact": 0.25},
        "notes": ["a note with `code`"],
        "regression": {
            "last_good": "2.8.0",
            "first_bad": "2.9.0",
            "versions": ["2.7.0", "2.8.0", "2.9.0"],
            "summary": "Broken between torch 2.8.0 and 2.9.0.",
            "tested": [{"version": "2.8.0", "verdict": "good"}, {"version": "2.9.0", "verdict": "bad"}],
        },
    }
    sources = Sources(
        reproducer=REPRODUCER,
        error_log=(GOLDEN / "error.log").read_text(encoding="utf-8"),
        curve=((1, 12), (5, 4), (9, 1)),
        graph=(
            Drawn("a", "torch.relu", "train.py:20 in forward: x.relu()", ()),
            Drawn("b", "torch.conv2d", LINE, ("a",)),
            Drawn("c", "torch.convolution_backward", LINE, ("b",)),
        ),
        reduced=drawn_of(REPRODUCER, "repro.py"),
        spans=(
            Span("as it is", 0.0, 24.0, "bad", "exception"),
            Span("uncompiled", 24.0, 27.0, "ok", "passes"),
            Span("reducing", 27.0, 40.0, "", "15 candidates"),
        ),
    )
    return decode(TriageReport, tree), sources


STEP = ProfiledStep("default", 0.004, 6, "profile/default.json", (ProfiledOperation("aten::mm", 2, 0.001),))
EXPLAINED = Explanation(
    graphs=3,
    graph_breaks=(
        GraphBreak(
            "train.py",
            12,
            "    print(x.mean())",
            "Failed to trace builtin operator",
            "GB0059",
            ("a hint",),
            3,
            "noisy",
            "it cannot",
            "https://meta-pytorch.org/compile-graph-break-site/gb/gb0059.html",
            "leave it out",
            seconds=0.3,
            source=(
                SourceLine(11, "def noisy(x):"),
                SourceLine(12, "    print(x.mean())"),
                SourceLine(13, "    return x"),
            ),
        ),
    ),
    recompiles=(
        Recompilation(
            "loss", "train.py", 30, "size mismatch at index 1", 3, "dynamic=True", True, "size", "dynamic=True", 0
        ),
    ),
    compile=CompileTime(
        4.0,
        3.5,
        {"dynamo": 1.0, "kernel_build": 3.0},
        (GraphTime("0/0", "noisy", "train.py", 11, 3.0, 7),),
        0.001,
        9,
        0.5,
        0.4,
    ),
    command=("train.py",),
    modes=(
        ModeRow(
            "uncompiled",
            "measured",
            None,
            None,
            Interval(0.004, 0.0039, 0.0041),
            40,
            21,
            Interval(1, 1, 1),
            compared=True,
        ),
        ModeRow(
            "default",
            "measured",
            None,
            3.0,
            Interval(0.002, 0.0019, 0.0021),
            40,
            21,
            Interval(2, 1.9, 2.1),
            1500,
            wrong="a NaN",
        ),
        ModeRow("backend tvm", "not_run", "no tvm here"),
    ),
    outside=("The optimizer's `step` is not compiled.",),
    profile=Profile(
        STEP,
        replace(STEP, mode="compiled"),
        (FusedTime(("cpp_fused_relu",), ("relu",), 0.001, 0.002),),
        ("`mm` is slower",),
    ),
    environment={"torch": "2.13.0", "python": "3.11.7"},
)


def at(version: str, verdict: Standing, **more: object) -> TestedVersion:
    return TestedVersion(version, verdict, runs=1, failures=int(verdict is Standing.BAD), seconds=20.0, **more)


BISECTED = Bisection(
    "train.py",
    Kind.REGRESSED,
    ("triage", "bisect", "train.py"),
    "2.8.0",
    "2.9.0",
    True,
    tested=(
        at("2.4.0", Standing.SKIP, note="cannot be installed"),
        at("2.8.0", Standing.GOOD, log="logs/2.8.0.log"),
        at("2.9.0", Standing.BAD, error="AssertionError: wrong"),
    ),
    versions=("2.4.0", "2.5.0", "2.6.0", "2.8.0", "2.9.0", "2.10.0"),
    summary="Broken between torch 2.8.0 (passes) and 2.9.0 (fails).",
    commits=CommitWindow(
        "a" * 40,
        "b" * 40,
        "https://github.com/pytorch/pytorch/compare/a...b",
        412,
        (Commit("c" * 40, "a subject", 1.0, "its path"),),
    ),
    notes=("a note",),
)
SWEPT = SweepReport(
    scripts=2,
    failing=1,
    clusters=(
        Cluster("c1", "`aten.lerp`: no", "inductor", "exception", "f00d", "aten.lerp", ("a.py",), "runs/a", None, "1"),
    ),
    results=(
        replace(
            ScriptResult(
                "a.py", Fate.FAILS, "inductor", "exception", "f00d", "aten.lerp", "TypeError: no", "c1", "r/a"
            ),
            rungs={"eager": "ok", "inductor": "exception"},
            seconds=12.5,
        ),
        ScriptResult("b.py", Fate.PASSES, "none", "none", "", None, "", None, "r/b"),
    ),
    environment={"torch": "2.13.0"},
)
PAGES: dict[str, Callable[[], str]] = {
    "report": lambda: render(everything()[0], "html", everything()[1]),
    "explain": lambda: explanation_html(EXPLAINED),
    "bisect": lambda: bisection_html(BISECTED),
    "sweep": lambda: sweep_html(SWEPT),
}
