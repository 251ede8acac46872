"""From what a hunt has learned to the tree behind `bisect.json`, and to the sentence that says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from triage.bisect.missing import lacking_everywhere
from triage.bisect.points import Axis
from triage.bisect.search import BAD, GOOD, SKIP, Edge, edge, edges, is_monotone
from triage.bisect.trial import Sought
from triage.errors import TargetError
from triage.model.bisection import Bisection, Change, Kind, SkippedVersion, Standing, TestedVersion

Results = Mapping[int, TestedVersion]


def answer(
    asked: Bisection, axis: Axis, results: Results, sought: Sought, *, incomplete: str | None, dead_end: str | None
) -> Bisection:
    """The answer, complete or not; `asked` is what it repeats of the question, and what it took."""
    size = len(axis.points)
    answers = {place: tested.verdict for place, tested in results.items()}
    found = edge(answers)
    tested = [results[place] for place in sorted(results, key=lambda place: _age(axis, place))]
    changes = tuple(_change(axis, near, far, answers) for near, far in edges(size, answers))
    ordered = changes if axis.kind is Kind.FIXED else changes[::-1]
    monotone = is_monotone(size, answers)
    if monotone and found is None:
        monotone = None  # nothing changes: there is no history to speak of
    before, after = _window(axis, found, changes)
    return replace(
        asked,
        before=before,
        after=after,
        monotone=monotone,
        between=_names(axis, found.unknown) if found else (),
        skipped=tuple(SkippedVersion(row.version, row.error or "") for row in tested if row.verdict is SKIP),
        tested=tuple(tested),
        changes=ordered,
        complete=incomplete is None,
        incomplete_reason=incomplete,
        summary=summary(axis, results, found, monotone, ordered, incomplete, dead_end),
        axis=axis.unit,
        versions=axis.names,
        failure=sought.face.line() if sought.face else "",
        notes=tuple(dict.fromkeys([*axis.notes, *asked.notes, *_flaky(sought), *_reworded(tested)])),
    )


def summary(
    axis: Axis, results: Results, found: Edge | None, monotone: bool | None, changes: tuple[Change, ...], incomplete: str | None,
    dead_end: str | None,
) -> str:  # fmt: skip
    """One or two sentences, without Markdown."""
    points = axis.from_bad_end()
    unit = "commit" if axis.unit == "commit" else "torch"
    if dead_end is not None:
        return f"{unit} {points[0].name}: {dead_end[0].lower()}{dead_end[1:]}: {results[0].error}."
    if found is not None:
        bad, good = points[found.bad].name, points[found.good].name
        fixed = axis.kind is Kind.FIXED
        verb = "Fixed" if fixed else "Broken"
        first, last = (f"{bad} (fails)", f"{good} (passes)") if fixed else (f"{good} (passes)", f"{bad} (fails)")
        text = f"{verb} between {unit} {first} and {last}"
        if found.unknown:
            text += f"; {_listed(_names(axis, found.unknown))} in between could not be tested"
        elif abs(found.good - found.bad) > 1:
            text += "; versions in between were not tested yet"
        text += "."
        if unlisted := _unlisted(axis, found):
            text += f" In between, --versions leaves out {_listed(unlisted)}."
        if monotone is False:
            text += f" The history is not monotone: {_history(changes)}."
        return text
    bad_end, good_end = results.get(0), results.get(len(points) - 1)
    if changes:
        return f"Both ends have the same outcome, but not all between them: {_history(changes)}."
    if bad_end is not None and bad_end.verdict is GOOD:
        return f"The script passes with {unit} {bad_end.version}, where it should fail: nothing to look for."
    if incomplete is not None:
        return f"Nothing is settled yet: {incomplete}."
    failing = [tested.version for tested in results.values() if tested.verdict is BAD]
    if not failing:
        return _nowhere(axis, results)
    if good_end is not None and good_end.verdict is BAD:
        text = f"The script fails with {unit} {good_end.version} too, where it should pass"
        if len(results) == len(points):
            return f"{text}, and nowhere in between does it pass: the change lies outside the range."
        return f"{text}: the change lies outside the range, or the failure came, went and came back (--linear would show it)."
    return "The script fails wherever it can be tested: the change lies outside the range, or among the untestable versions."


def _nowhere(axis: Axis, results: Results) -> str:
    """The sentence where no version fails, and the bad end cannot be tested."""
    if (error := why_untestable(axis, results)) is not None:
        return error.what
    skipped = sorted(
        (place for place, row in results.items() if row.verdict is SKIP), key=lambda place: _age(axis, place)
    )
    reason, count = Counter(results[place].error or "" for place in skipped).most_common(1)[0]
    said = reason if count == len(skipped) else f"{reason} (and other reasons)"
    return (
        f"The script fails in no version that was tested. {_listed(_names(axis, tuple(skipped)))} could not be: {said}."
    )


def why_untestable(axis: Axis, results: Results) -> TargetError | None:
    """The error where not one version could be tested: the reason is the same for most, and is the message."""
    if (lacking := lacking_everywhere(results.values(), axis.unit)) is not None:
        module, version = lacking
        return TargetError(
            what=f"The script needs the module {module}, which the environments do not have.",
            why=f"It was not found with torch {version}; the others would hold the same packages.",
            next=f"Name the package that has it: --with {module.partition('.')[0]} (or -r requirements.txt).",
        )
    if len(results) < len(axis.points) or any(tested.verdict is not SKIP for tested in results.values()):
        return None
    reason, count = Counter(tested.error or "" for tested in results.values()).most_common(1)[0]
    return TargetError(
        what=f"None of the {len(results)} versions from {axis.names[0]} to {axis.names[-1]} could be tested.",
        why=f"{reason} (so it was for {count} of them)",
        next="Choose other versions (--good, --bad), another interpreter (--python 3.11), or name missing packages (--with).",
    )


def differing_packages(before: TestedVersion, after: TestedVersion) -> list[str]:
    """What else differs between both sides: `triton 3.2.0 -> 3.3.0`. Libraries of CUDA come with torch and are left out."""
    found = []
    for name in sorted({*before.packages, *after.packages} - {"torch", "pip", "setuptools"}):
        left, right = before.packages.get(name), after.packages.get(name)
        if left != right and not name.startswith("nvidia-"):
            found.append(f"{name} {left or 'absent'} -> {right or 'absent'}")
    return found


def _window(axis: Axis, found: Edge | None, changes: tuple[Change, ...]) -> tuple[str | None, str | None]:
    """(before, after): the edge at the bad end, else the change of the wanted kind that is nearest to it."""
    if found is None:
        other = next((change for change in changes if change.kind is axis.kind), None)
        return (other.before, other.after) if other is not None else (None, None)
    points = axis.from_bad_end()
    bad, good = points[found.bad].name, points[found.good].name
    return (bad, good) if axis.kind is Kind.FIXED else (good, bad)


def _change(axis: Axis, near: int, far: int, answers: Mapping[int, Standing]) -> Change:
    """A change seen, in the order of age."""
    points = axis.from_bad_end()
    older, newer = (near, far) if axis.kind is Kind.FIXED else (far, near)
    kind = Kind.REGRESSED if answers[newer] is BAD else Kind.FIXED
    between = tuple(place for place in range(min(near, far) + 1, max(near, far)) if answers.get(place) is SKIP)
    return Change(kind, points[older].name, points[newer].name, _names(axis, between))


def _names(axis: Axis, places: tuple[int, ...]) -> tuple[str, ...]:
    points = axis.from_bad_end()
    return tuple(points[place].name for place in sorted(places, key=lambda place: _age(axis, place)))


def _unlisted(axis: Axis, found: Edge) -> tuple[str, ...]:
    """The releases inside the window that were not asked about, where versions were listed."""
    points = axis.from_bad_end()
    ends = sorted(end.release.version for end in (points[found.bad], points[found.good]) if end.release is not None)
    return tuple(release.name for release in axis.unlisted if ends[0] < release.version < ends[1])


def _age(axis: Axis, place: int) -> int:
    return place if axis.kind is Kind.FIXED else -place


def _history(changes: tuple[Change, ...]) -> str:
    words = {Kind.REGRESSED: "broken", Kind.FIXED: "fixed"}
    return ", ".join(f"{words[change.kind]} between {change.before} and {change.after}" for change in changes)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{names[0]} to {names[-1]} ({len(names)} versions)"


def _flaky(sought: Sought) -> list[str]:
    if sought.rate >= 1.0:
        return []
    return [
        f"The failure comes and goes: it showed in {sought.rate:.0%} of the runs of the bad end, so passes were repeated."
    ]


def _reworded(tested: list[TestedVersion]) -> list[str]:
    texts = dict.fromkeys(row.error for row in tested if row.verdict is BAD and row.error)
    return [f"The failing versions word it differently: {'; '.join(list(texts)[:4])}."] if len(texts) > 1 else []
