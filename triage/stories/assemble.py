"""From the findings to the report tree: every field of `report.json` is filled here, from facts alone."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, replace
from pathlib import Path

import triage
from triage.culprit.contracts import broken_by
from triage.culprit.given_wrong import GivenWrong
from triage.culprit.match_known_cause import lies_in_environment
from triage.culprit.operation import Clues, culprit_of, with_part
from triage.culprit.own_code import raised_in, raising_line
from triage.culprit.settings import not_disproved
from triage.environments.files import JOURNAL
from triage.errors import EXIT_INTERRUPTED, EXIT_NOTHING, EXIT_OK, EXIT_PARTIAL, EXIT_SCRIPT
from triage.judge.naming import headline
from triage.judge.signature import is_user_frame
from triage.locate.conclude import Conclusion
from triage.locate.outcomes import is_script_check
from triage.model.codec import encode
from triage.model.graphcase import GraphNode
from triage.model.own_code import OF_OPERATORS, OwnCode
from triage.model.report import Culprit, NearestPassing, ReportSignature, ReportVerdict, Sibling, TriageReport
from triage.model.stage import OutcomeKind, Stage, Symptom
from triage.model.text import clip, quoted
from triage.probe.launch import text_of
from triage.probe.run import Probe
from triage.reduce.verifying import Reproduced
from triage.report.duplicates import duplicates_of
from triage.report.excerpt import excerpt, function_of_stacks, library_line_of, line_of
from triage.report.exits import exit_line
from triage.report.repository import repository_state
from triage.report.trace import trace_of
from triage.stories.accuracy_notes import accuracy_facts
from triage.stories.blamed_place import decomposed_node, diverging_node, line_to_blame, named_operation, with_module
from triage.stories.captured import guilty_graph, named_line, only_line
from triage.stories.findings import Findings
from triage.stories.headline import (
    refused_by_eager,
    sentence_before_the_first,
    summary_sentence,
    what_fakes_say,
    what_it_comes_of,
    whose_headline,
    with_headline,
)
from triage.stories.known_cause import cause_of
from triage.stories.ladder_rows import ladder_rows
from triage.stories.notes import notes_of
from triage.stories.reproducer_facts import (
    fails_by_itself,
    given_wrong_facts,
    reproducer_facts,
    reproducer_note,
    workaround_texts,
)
from triage.stories.spoiled import why_unsettled
from triage.stories.whose_code import own_code, raised_by, what_to_mend

# Variables that decide what torch does; not where it keeps things.
_READ_BY_TORCH = re.compile(
    r"(?:TORCH|PYTORCH|TORCHINDUCTOR|TORCHDYNAMO|AOT|TRITON|INDUCTOR)_(?!HOME|EXTENSIONS_DIR|CACHE_DIR)\w+$"
    r"|(?:CXX|CC|CUDA_(?:VISIBLE_DEVICES|DEVICE_ORDER|LAUNCH_BLOCKING)|CUBLAS(?:LT)?_WORKSPACE_\w+|NVIDIA_TF32_OVERRIDE|(?:OMP|MKL)_NUM_THREADS|PYTHONPATH|PYTHONHASHSEED|LD_PRELOAD)$"
)
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|API_?KEY")

_WORD = re.compile(r"\w+")
_DEFINED = re.compile(r"(?m)^\s*(?:async )?(?:def|class)[ \t]+(\w+)")


def assemble(found: Findings) -> TriageReport:
    """The report of what is known now."""
    walk, session, conclusion = found.walk, found.session, found.walk.conclusion()
    first = next(iter(walk.seen.get(walk.own_rung.name, [])), None)
    own = own_code(found, conclusion)
    mend = what_to_mend(found, conclusion, own)
    unsettled = why_unsettled(walk, conclusion) if found.incomplete is None else None
    incomplete = found.incomplete or unsettled
    made = found.reproduced
    graph = guilty_graph(walk, conclusion, made.graph if made is not None else None)
    reproducer = reproducer_facts(found)
    doubted = reproducer is not None and reproducer.doubt is not None
    decomposed = decomposed_node(found)
    culprit = _culprit(found, conclusion, own, graph, decomposed, doubted=doubted)
    of_operation = line_to_blame(found) or only_line(found.cases, graph)
    if of_operation is None and (named := named_operation(conclusion, culprit)):
        of_operation = named_line(found.cases, graph, named)
    typed = found.target.text() if found.target.script is None else None
    caused_by = decomposed.where if decomposed is not None and decomposed.where == of_operation else None
    signature = _signature(conclusion, of_operation or _exit_line(found, conclusion), own, typed, caused_by)
    if signature is not None and own is None:
        signature = replace(signature, noticed=of_operation is None and _fails_by_check(conclusion))
    session.timings["total"] = round(session.clock.elapsed(), 2)
    report = TriageReport(
        tool={"name": "triage", "version": triage.__version__},
        command=found.command,
        verdict=replace(
            _verdict(found, conclusion),
            summary=_summary(found, whose_headline(own, mend), first, incomplete),
            line=signature.user_line if signature else None,
            unsettled=unsettled,
        ),
        signature=signature,
        ladder=ladder_rows(walk, conclusion),
        ablation=found.ablation,
        culprit=with_module(culprit, found, signature.user_line if signature is not None and own is None else None),
        workarounds=workaround_texts(found, conclusion),
        ways_round=found.ways_round,
        conditions=found.conditions,
        indifferent=found.indifferent,
        known_cause=cause_of(
            conclusion,
            first,
            mend,
            own,
            not_disproved(found.cures, found.no_ways_round),
            found.conversion,
            made,
            changed=found.raised_by_eager,
        ),
        subsystem=found.subsystem,
        reproducer=reproducer,
        reproducer_note=reproducer_note(found, unsettled),
        nearest_passing=_nearest_passing(made),
        siblings=_siblings(made),
        accuracy=accuracy_facts(found),
        raised_in=raised_in(raised_by(conclusion), own),
        own_code=own,
        findings=mend,
        operator_checks=found.operator_checks,
        given_wrong=given_wrong_facts(found),
        fake_wrong=asdict(found.fake_wrong) if found.fake_wrong is not None else None,
        graph_breaks=first.notes.graph_breaks if first else 0,
        recompiles=first.notes.recompiles if first else 0,
        environment=_environment(found, first) | _libraries(conclusion),
        collect_env=found.environment.collect_env if found.environment else "",
        repository=repository_state(found.target.script.parent if found.target.script else found.target.cwd),
        compile_calls=tuple(encode(call) for call in first.notes.compile_calls) if first else (),
        timings=dict(session.timings),
        complete=incomplete is None,
        incomplete_reason=incomplete,
        artifacts=_artifacts(session.directory),
        rerun=rerun_command(found),
        notes=tuple(dict.fromkeys([*found.notes, *notes_of(found, conclusion)])),
    )
    return replace(report, duplicates=duplicates_of(report, _own_names(found, conclusion)))


def _verdict(found: Findings, conclusion: Conclusion) -> ReportVerdict:
    """What the conclusion says by itself; its sentence and its line are told by more than that."""
    return ReportVerdict(
        symptom=symptom_of(conclusion, found.given_wrong),
        stage=conclusion.stage if conclusion.settled else Stage.NONE,
        direction=conclusion.direction.value if conclusion.direction else None,
        summary="",
        runs=conclusion.runs,
        failures=conclusion.failures,
        door=conclusion.door.name if conclusion.door is not None else None,
        own_fault=conclusion.own_fault,
        compiled_nothing=conclusion.compiled_nothing,
        compares_random=conclusion.random_check,
    )


def _summary(found: Findings, whose: str, first: Probe | None, incomplete: str | None) -> str:
    """What was found: whose code it is, the failure in one sentence, and what that comes of."""
    walk = found.walk
    if first is None:
        sentence = sentence_before_the_first(walk, incomplete)
    else:
        compared = walk.compared.notes if walk.compared else None
        conclusion = walk.conclusion()
        past = conclusion.passing is not None and walk.later_on(conclusion.passing) is not None
        sentence = summary_sentence(conclusion, first, incomplete, compared, refused_by_eager(walk), past=past)
    return with_headline(whose, sentence) + (what_it_comes_of(found.given_wrong) or what_fakes_say(found.fake_wrong))


def _culprit(
    found: Findings,
    conclusion: Conclusion,
    own: OwnCode | None,
    graph: str | None,
    decomposed: GraphNode | None,
    *,
    doubted: bool,
) -> Culprit | None:
    """The operation and the part to blame. Of a reproducer that is `doubted`, the graph that it compiles tells nothing."""
    made = found.reproduced
    reduced = made.graph or (made.seen_graph if not doubted else None) if made is not None else None
    clues = Clues(
        diverging=diverging_node(found),
        first_wrong=found.first_wrong,
        broken=[check.operator for check in found.operator_checks if broken_by(check)],
        through=own.operator if own is not None and own.role in OF_OPERATORS and not own.needed else None,
        given=found.given_wrong,
        fake=found.fake_wrong,
        decomposed=decomposed,
        any_operation=found.any_operation,
        minimal=made is None or made.minimal,
        by_itself=fails_by_itself(found, own),
    )
    culprit = culprit_of(conclusion, reduced, graph, clues)
    return with_part(culprit, found.subsystem, found.lowered, conclusion.direction, any_operation=found.any_operation)


def _nearest_passing(made: Reproduced | None) -> NearestPassing | None:
    if made is None or made.passing is None:
        return None
    return NearestPassing("passing.py", made.passing_difference or "")


def _siblings(made: Reproduced | None) -> tuple[Sibling, ...]:
    """The other failures that were met."""
    return tuple(
        Sibling(
            signature.fingerprint,
            headline(signature.exception_type, clip(signature.message, 200)),
            f"siblings/{signature.fingerprint}.py" if source is not None else None,
        )
        for signature, source in (made.others if made else ())
    )


def exit_code(report: TriageReport, interrupted: bool) -> int:
    """The contract's exit code for this report."""
    if interrupted:
        return EXIT_INTERRUPTED
    if report.verdict.stage is Stage.SCRIPT:
        return EXIT_SCRIPT
    if not report.complete:
        return EXIT_PARTIAL
    if report.verdict.door is not None:
        return EXIT_OK
    nothing = report.verdict.symptom in (Symptom.NONE, Symptom.ROUNDING) or report.verdict.stage is Stage.NONE
    return EXIT_NOTHING if nothing else EXIT_OK


def symptom_of(conclusion: Conclusion, given: GivenWrong | None) -> Symptom:
    """What is raised where a value rounds otherwise is rounding, as it is where a check of the program's own fails by that."""
    return Symptom.ROUNDING if given is not None and given.wrong is None else conclusion.symptom


def rerun_command(found: Findings) -> str:
    """What to type to do it again, with the settings of the environment that torch reads."""
    given = [f"{name}={quoted(value)}" for name, value in sorted(os.environ.items()) if _tells(name)]
    reading = ["< INPUT"] if found.target.stdin is not None else []
    return " ".join([*given, *map(quoted, ("triage", "run", *found.command)), *reading])


def _tells(name: str) -> bool:
    return _READ_BY_TORCH.match(name) is not None and not _SECRET.search(name)


def _fails_by_check(conclusion: Conclusion) -> bool:
    """Whether what fails is the program's own check of what compiled code gave it, by an exception or an exit status."""
    outcome = conclusion.outcome
    if outcome is None or conclusion.stage in (Stage.SCRIPT, Stage.NONE):
        return False
    return is_script_check(outcome) or conclusion.symptom is Symptom.WRONG_RESULT


def _exit_line(found: Findings, conclusion: Conclusion) -> str | None:
    """The line at which the script ended itself with words of its own: of a SystemExit no traceback is left."""
    script = found.target.script
    if script is None or conclusion.outcome is None:
        return None
    try:
        line = exit_line(conclusion.outcome, script.read_text(encoding="utf-8"), str(script))
    except (OSError, UnicodeDecodeError):
        return None
    return line.told if line is not None else None


def _signature(
    conclusion: Conclusion,
    reduced_line: str | None,
    own: OwnCode | None,
    typed: str | None = None,
    caused_by: str | None = None,
) -> ReportSignature | None:
    """`caused_by`: the line of the operation that what is raised in a later line is known to come of."""
    signature, outcome = conclusion.signature, conclusion.outcome
    if signature is None or outcome is None:
        return None
    own_line = line_of(outcome, typed)
    line = own_line.told if own_line is not None else None
    if outcome.exception is None or not any(level.user_code for level in outcome.exception.levels):
        line = reduced_line or line  # where compiled code was called says less than where the operation stands
    line = caused_by or line
    if own is not None:
        line = own.line
    elif lies_in_environment(outcome, conclusion.stage):
        line = None  # any other line that is compiled would fail
    raising = raising_line(outcome.exception) if conclusion.stage is Stage.DYNAMO else None
    return ReportSignature(
        exception_type=signature.exception_type,
        message=signature.message,
        frames=signature.frames,
        fingerprint=signature.fingerprint,
        user_line=line,
        library_line=library_line_of(outcome, raising) if line is not None and own is None else None,
        test=(outcome.exception.test or None) if outcome.exception else None,
        excerpt=excerpt(outcome, caused=own is not None),
        hangs_in=function_of_stacks(outcome) if outcome.kind is OutcomeKind.HANG else None,
        wrong=None if conclusion.symptom is Symptom.ROUNDING else signature.wrong,
    )


def _environment(found: Findings, first: Probe | None) -> dict[str, str]:
    """The target's own description; where there is none, the versions that the first run told."""
    if found.environment is not None:
        return found.environment.summary()
    versions = {"torch": first.notes.torch_version, "python": first.notes.python_version} if first else {}
    return {name: version for name, version in versions.items() if version}


def _libraries(conclusion: Conclusion) -> dict[str, str]:
    """The versions of the packages, other than torch, that the error came through."""
    error = conclusion.error
    return {} if error is None else {**error.libraries, **error.innermost().libraries}


def _artifacts(directory: Path) -> dict[str, str]:
    found = {"report_md": "report.md", "report_json": "report.json", "journal": JOURNAL}
    trace = trace_of(directory)
    if trace is not None:
        found["trace"] = str(trace.relative_to(directory))
    if (directory / "repro.py").exists():
        found["repro"] = "repro.py"
    if (directory / "workaround.patch").exists():
        found["workaround_patch"] = "workaround.patch"
    return found


def _own_names(found: Findings, conclusion: Conclusion) -> frozenset[str]:
    """Names that the program defines, which must not be sent out into the world: words of the command, functions and classes of
    the script, and of the files that the error came through.
    """
    names = {part for word in found.command for part in _WORD.findall(word)}
    levels = conclusion.error.levels if conclusion.error is not None else ()
    frames = [frame for level in levels for frame in (*level.user_code, *level.frames) if is_user_frame(frame)]
    names |= {name for frame in frames for name in (frame.function, Path(frame.file).stem)}
    files = {Path(frame.file) for frame in frames} | ({found.target.script} if found.target.script else set())
    return frozenset(names.union(*(_DEFINED.findall(text_of(file)) for file in files)))
