"""Failures that need more than one thread: candidates run with one, so nothing that is made smaller fails there.

Inductor writes other code for several threads (`torch._inductor.codegen.cpp`, `parallel_num_threads`), and shares its loops among
them. One thread each is what candidates are quickest with, side by side; where that hides the failure they get the program's.
"""

from __future__ import annotations

from contextlib import nullcontext

from triage.culprit.inquiry import Inquiry, seconds_of
from triage.environments.machine import usable_cores
from triage.judge.judgement import Oracle
from triage.model.stage import Verdict
from triage.reduce.failing_comparison import PassingGraphs
from triage.reduce.interface import Problem
from triage.stories.blame import passes_here
from triage.stories.findings import Findings
from triage.trial.runner import ForkServerRunner
from triage.trial.share import share_of

NEEDED = "It needs more than one thread: with one (OMP_NUM_THREADS=1) it passes."


def needed(found: Findings, problem: Problem, runner: ForkServerRunner, oracle: Oracle) -> bool:
    """Whether what fails in fresh processes, and could not be reduced, passes with one thread and fails with several.

    Then candidates have as many as the script from here on.
    """
    made = found.reproduced
    if made is None or not made.verified or made.prints or usable_cores() < 2:
        return False
    emit, budget = found.session.emit, share_of(found.session.clock, made.seconds, made.slowest)
    inquiry = Inquiry(problem.rung, runner, made.oracle or oracle, budget, emit, seconds_of(made.slowest))
    with runner.comparing(None) if made.case == "source" else nullcontext():
        if not passes_here(made, inquiry):
            return False
        emit("engine_step", text="asking whether it needs more than one thread")
        runner.with_threads()
        if inquiry.verdict(made.source) is Verdict.SAME_FAILURE:
            found.notes.append(NEEDED)
            found.passing_graphs = PassingGraphs()  # they passed with one
            return True
    runner.with_threads(several=False)
    return False
