"""The story of `triage bisect`, top to bottom: what is asked, which versions, test them, tell.

Whatever ends it early, what was learned is on disk: `bisect.json` says that it is incomplete, `bisect-state.json` lets the
next start go on from there.
"""

from __future__ import annotations

import json
import platform
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from packaging.version import Version

from triage.bisect.answer import answer, differing_packages, why_untestable
from triage.bisect.clone import bare_window, window_in_clone
from triage.bisect.hunt import Hunt, Manner
from triage.bisect.points import Axis
from triage.bisect.setup import Setup, set_up
from triage.bisect.state import FILE, Ask, State, digest_of, load, places_of, save
from triage.bisect.trial import CACHES_OFF, Sought, Trial
from triage.bisect.worktrees import CommitBench, commit_axis
from triage.environments.cache import DEFAULT_LIMIT
from triage.environments.files import JOURNAL, write_whole
from triage.environments.machine import runs_that_fit
from triage.errors import EXIT_INTERRUPTED, EXIT_NOTHING, EXIT_OK, EXIT_PARTIAL, TargetError, TriageError, UsageError
from triage.model.bisection import Bisection, CommitWindow, Kind, from_json, to_json
from triage.model.places import RUNS
from triage.probe import stdin
from triage.probe.target import check_syntax, find_python
from triage.report.bisection import bisection_html
from triage.report.issue import bisection_page
from triage.report.redact import Redactor, redactor_here
from triage.report.store import FILES, load_report, write_report
from triage.report.writing import writing
from triage.session.clock import BudgetSpentError, Clock
from triage.session.directory import hide_from_git, name_of_run
from triage.session.events import Emitter, Journal
from triage.session.session import Session, neutral_store, open_session, refuse_where_another_goes_on
from triage.session.settings import Settings
from triage.stories.bisect_subject import Subject, find_subject


@dataclass(frozen=True)
class BisectResult:
    """What `triage bisect` ends in. `report` is the run's report it was merged into."""

    found: Bisection
    directory: Path
    exit_code: int
    report: Path | None = None


def bisect(
    ask: Ask,
    settings: Settings,
    emit: Emitter,
    resume: Path | None = None,
    cache_limit: int = DEFAULT_LIMIT,
    *,
    own_stdin: bool = True,
) -> BisectResult:
    """Answer the question. With `own_stdin` what stands on our standard input is the script's.

    Raises TriageError where it cannot be answered at all.
    """
    earlier = load(resume) if resume is not None else _unfinished(ask, settings)
    place = resume if resume is not None else settings.out
    if earlier is not None and place is not None:
        refuse_where_another_goes_on(place)
    ask = earlier.ask if earlier is not None else ask
    subject = find_subject(ask.words, ask.module, ask.raw, Path(ask.cwd))
    python = find_python(None)
    check_syntax(subject.target(python))  # before anything is installed
    setup = _set_up(ask, subject, python, earlier, cache_limit)
    session = _session(subject, settings, emit, place, earlier is not None)
    digest = digest_of(subject.target(python).script, ask.words)
    kept = earlier if earlier is not None and earlier.digest == digest else None
    hunt = Hunt(
        setup.axis,
        setup.bench(session),
        Trial(session, {} if ask.caches else CACHES_OFF, stdin=_stdin(subject, session.directory, own_stdin)),
        session,
        Manner(ask.linear, ask.repeats, _jobs(settings), look_at_caches=ask.caches and setup.axis.unit != "commit"),
        kept.sought if kept is not None else Sought(subject.wanted),
        places_of(setup.axis, kept.results) if kept is not None else {},
    )
    began = _Began(kept)
    hunt.learned = lambda: save(session.directory, _state(ask, digest, hunt, began))
    emit("bisect_started", directory=str(session.directory), **_outlook(setup, hunt))
    incomplete, code, error = _hunt(hunt, settings)
    hunt.learned()
    found = _answer(ask, subject, setup, hunt, began, incomplete)
    redactor = redactor_here(Path.cwd(), redact=settings.redact).knowing(found.command)
    report = _write(found, session.directory, subject, redactor)
    emit("bisect_ended", directory=str(session.directory), summary=found.summary, complete=found.complete)
    if error is not None:
        raise error if not hunt.results else _to_be_taken_up(error, session.directory)
    if incomplete is None and (untestable := why_untestable(setup.axis, hunt.results)) is not None:
        raise untestable
    return BisectResult(found, session.directory, code if code is not None else exit_code(found), report)


def _hunt(hunt: Hunt, settings: Settings) -> tuple[str | None, int | None, TargetError | None]:
    """(why it ended early, exit code, error) of the hunt; all None where it came to its end."""
    try:
        hunt.run()
    except KeyboardInterrupt:
        return "interrupted", EXIT_INTERRUPTED, None
    except BudgetSpentError:
        return settings.budget_ended, EXIT_PARTIAL, None
    except TargetError as error:
        return error.what.rstrip("."), None, error
    return None, None, None


# -- before ---------------------------------------------------------------------------------------------------------


def _unfinished(ask: Ask, settings: Settings) -> State | None:
    """The state of the same question in the directory that was asked for, where it was not finished."""
    if settings.out is None or not (settings.out / FILE).is_file():
        return None
    state = load(settings.out)
    if state.ask != ask:
        raise UsageError(
            what=f"{settings.out} holds another bisection.",
            why="Its question was a different one, and runs are never overwritten.",
            next=f"Choose another directory with --out, or take that one up: triage bisect --resume {settings.out}",
        )
    return state


def _stdin(subject: Subject, directory: Path, own: bool) -> Path | None:
    """What every run of the script reads: given now, kept by the bisection taken up, or by the run that is bisected."""
    if subject.of_reproducer:
        return None
    kept = stdin.kept_in(directory) or (stdin.kept_in(subject.run) if subject.run is not None else None)
    return kept or (stdin.take(directory) if own else None)


def _session(subject: Subject, settings: Settings, emit: Emitter, out: Path | None, again: bool) -> Session:
    """A directory of its own, inside the run that is bisected; or the one that is taken up again."""
    if again and out is not None:
        emit.add(Journal(out / JOURNAL))
        return Session(out.absolute(), settings, emit, Clock(settings.budget), neutral_store())
    if out is None:
        label = subject.target(find_python(None)).label
        default = subject.cwd / RUNS / name_of_run(f"bisect-{label}")
        out = subject.run / "bisect" if subject.run is not None else default
    session = open_session(replace(settings, out=out), "bisect", Path.cwd(), emit)
    if session.directory.parent.name == RUNS:
        hide_from_git(session.directory.parent)
    return session


def _set_up(ask: Ask, subject: Subject, python: str, earlier: State | None, cache_limit: int) -> Setup:
    if ask.target_repo is not None:
        place = (Path(ask.cwd) / ask.target_repo).resolve()
        if ask.nightly or ask.wish.versions:
            raise UsageError(
                what="--target-repo goes through commits, not versions of torch.",
                why="--nightly and --versions are about torch.",
                next="Leave one of them out.",
            )
        chosen = find_python(ask.python)
        axis = commit_axis(place, ask.wish.good, ask.wish.bad, ask.wish.find_fix)
        return Setup(
            axis,
            lambda session: CommitBench(place, subject.cwd, partial(subject.target, chosen), session.neutral),
            chosen,
        )
    wish = replace(ask.wish, known_bad=ask.wish.known_bad or subject.known_bad)
    if earlier is not None and earlier.unit == "release":
        wish = replace(wish, versions=earlier.names)  # the same axis, whatever came out since
    return set_up(replace(ask, wish=wish), python, subject.target, cache_limit)


def _jobs(settings: Settings) -> int:
    """Environments made, and in a linear search versions tested, side by side: as asked for, as far as memory allows."""
    return max(1, min(settings.jobs or 1, runs_that_fit()))


def _outlook(setup: Setup, hunt: Hunt) -> dict[str, object]:
    return {
        "versions": list(setup.axis.names),
        "change": setup.axis.kind,
        "unit": setup.axis.unit,
        "tested": [tested.version for tested in hunt.results.values()],
        "sizes": dict(zip(setup.axis.names, setup.sizes, strict=False)),
        "notes": list(setup.notes),
    }


# -- after ----------------------------------------------------------------------------------------------------------


class _Began:
    """When it began, with what an earlier part of it took."""

    def __init__(self, earlier: State | None) -> None:
        self._at = time.monotonic()
        self._before = earlier.seconds if earlier is not None else 0.0
        self.installs = earlier.installs if earlier is not None else 0

    def seconds(self) -> float:
        return self._before + time.monotonic() - self._at


def _state(ask: Ask, digest: str, hunt: Hunt, began: _Began) -> State:
    axis = hunt.axis
    results = tuple(hunt.results.values())
    installs = began.installs + hunt.bench.installs
    return State(ask, digest, axis.names, axis.kind, axis.unit, results, hunt.sought, installs, began.seconds())


def _answer(ask: Ask, subject: Subject, setup: Setup, hunt: Hunt, began: _Began, incomplete: str | None) -> Bisection:
    asked = Bisection(
        target=" ".join(["-m", subject.module] if subject.module else list(ask.words[:1])),
        kind=setup.axis.kind,
        command=command_line(ask, setup.axis),
        flavour=setup.builds,
        python=setup.python,
        platform=f"{platform.system()} {platform.machine()}",
        installs=began.installs + hunt.bench.installs,
        seconds=round(began.seconds(), 1),
        notes=(*setup.notes, *hunt.notes),
    )
    found = answer(asked, setup.axis, hunt.results, hunt.sought, incomplete=incomplete, dead_end=hunt.dead_end)
    rows = {row.version: row for row in found.tested}
    before, after = rows.get(found.before or ""), rows.get(found.after or "")
    if before is None or after is None:
        return found
    others = differing_packages(before, after)
    note = (f"Other packages differ between both as well: {', '.join(others[:8])}.",) if others else ()
    window = _window(ask, subject, hunt, before.git_version, after.git_version, setup.axis)
    return replace(found, commits=window, notes=(*found.notes, *note))


def _window(
    ask: Ask, subject: Subject, hunt: Hunt, before: str | None, after: str | None, axis: Axis
) -> CommitWindow | None:
    if not before or not after:
        return None
    if axis.unit == "commit":
        return CommitWindow(before, after)
    if ask.pytorch_repo is None:
        return bare_window(before, after)
    face = hunt.sought.face
    frames = face.signature.frames if face is not None else ()
    try:
        return window_in_clone(Path(ask.cwd) / ask.pytorch_repo, before, after, frames, subject.stage, subject.operator)
    except (TriageError, OSError, ValueError) as error:
        bare = bare_window(before, after)
        return replace(bare, note=f"The clone could not be read: {error}") if bare is not None else None


def command_line(ask: Ask, axis: Axis) -> tuple[str, ...]:
    """What to type to ask the same question again, with its ends spelled out."""
    words = ["triage", "bisect"]
    if ask.wish.versions:
        tested = {Version(name) for name in axis.names}  # --good and --bad may have cut the list
        words += ["--versions", ",".join(name for name in ask.wish.versions if Version(Version(name).public) in tested)]
    else:
        oldest, newest = axis.names[0], axis.names[-1]
        good, bad = (oldest, newest) if axis.kind is Kind.REGRESSED else (newest, oldest)
        words += ["--good", good, "--bad", bad]
    words += ["--find-fix"] if axis.kind is Kind.FIXED else []
    words += ["--nightly"] if ask.nightly else []
    words += ["--linear"] if ask.linear else []
    words += ["--flavour", ask.flavour] if ask.flavour != "cpu" else []
    words += ["--python", ask.python] if ask.python else []
    words += [word for package in ask.packages for word in ("--with", package)]
    words += [word for file in ask.requirements for word in ("-r", file)]
    words += ["--target-repo", ask.target_repo] if ask.target_repo else []
    words += ["--caches", "off"] if not ask.caches else []
    if ask.module:
        return (*words, "-m", ask.module, *ask.words)
    return (*words, *(["--"] if ask.raw or len(ask.words) > 1 else []), *ask.words)


def exit_code(found: Bisection) -> int:
    return EXIT_OK if found.before is not None and found.after is not None else EXIT_NOTHING


def _to_be_taken_up(error: TargetError, directory: Path) -> TargetError:
    return TargetError(
        error.what, error.why, f"{error.next} Then go on where it ended: triage bisect --resume {directory}"
    )


def _write(found: Bisection, directory: Path, subject: Subject, redactor: Redactor) -> Path | None:
    """`bisect.json`, `bisect.md` and `bisect.html`, and the report of the run where there is one. All of it redacted."""
    tree = redactor.tree(to_json(found))
    with writing(directory / "bisect.json"):
        write_whole(directory / "bisect.json", json.dumps(tree, indent=2, ensure_ascii=False) + "\n")
        write_whole(directory / "bisect.md", bisection_page(from_json(tree)))
        write_whole(directory / "bisect.html", bisection_html(from_json(tree)))
    if subject.run is None:
        return None
    for row in tree["tested"]:
        row.pop("packages", None)  # they are in bisect.json
    report = replace(load_report(subject.run), regression=tree)
    formats = [name for name, file in FILES.items() if (subject.run / file).is_file()]
    write_report(subject.run, report, formats, redactor)
    return subject.run / FILES["md"]
