"""Where the reduction may start: texts that ought to fail the same way, from the shortest to the whole program in one file.

Pure: from the trace of the program to texts. Which of them really fails is found by running them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from triage.model.outcome import CompileCall, Frame
from triage.reduce.text.code.script import Script, after_future, readable
from triage.reduce.text.code.shape import plain
from triage.reduce.text.code.tidy import cleaned
from triage.reduce.text.starts.bundle import MAIN, Bundle, Part, UnbundledError, bundle
from triage.reduce.text.starts.direct import MOST_CALLS, compared_script, direct_script, spoken
from triage.reduce.text.starts.executed import Cut, executed_part
from triage.reduce.text.starts.extract import import_of
from triage.reduce.text.starts.failing_line import as_function, place_of, statement_at, without_its_body
from triage.reduce.text.watching.evidence import Call, Module, Moment, Trace

MOST_LINES_ALONE = 4
MOST_COMPARED = 4  # functions
MOST_TEXTS = 3  # of a program that puts code together, each asked by itself
GRADIENTS = ("out.square().sum()", "out[0].square().sum()")  # of a module's output, or its first


@dataclass(frozen=True)
class KnownFailure:
    """In which compiled call it comes (0: later), how that was compiled, the default backend, the lines of the program that fail.

    `compared`: a compiled call is to show it by itself, compared with the same call uncompiled.
    """

    calls: int
    compiled: tuple[CompileCall, ...]
    rung: str | None
    compared: bool = False
    frames: Sequence[Frame] = ()


def starts(trace: Trace, asked: KnownFailure, preludes: Sequence[str] = ("",)) -> list[Script]:
    """Candidates, none twice: the failing call alone from the inside out, then several calls or the whole program.

    `preludes` are statements that give the program what it finds around it, the simplest first.
    """
    found: dict[str, Script] = {}
    alone: list[Script] = []
    texts = _compared(trace, asked) if asked.compared else _texts(trace, asked, preludes)
    for text, is_one_call in texts:
        try:
            script = Script(cleaned(plain(text, asked.rung)))
            script.weight()
        except (SyntaxError, ValueError, RecursionError):
            continue
        if script.text not in found:
            found[script.text] = script
            if is_one_call:
                alone.append(script)
    return alone + sorted((script for script in found.values() if script not in alone), key=Script.weight)


def _texts(trace: Trace, asked: KnownFailure, preludes: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Texts, and whether each is one call of one function."""
    main = trace.modules.get(MAIN)
    for cut in (Cut.EVERYWHERE, Cut.NOWHERE):
        for text in trace.texts[:MOST_TEXTS]:
            ran = replace(trace, modules={**trace.modules, MAIN: Module(MAIN, text)}, main_name=None)
            whole = _bundled(ran, cut)
            if whole is not None:
                script = Script(readable(whole.text))
                yield from ((after_future(script, before), False) for before in ("", *preludes))  # "": they were data
        made = _bundled(trace, cut)
        if made is None:
            continue
        script = Script(readable(made.text))
        for seen in (trace, _with_ones(trace)):
            yield from _direct(seen, asked, made, script, preludes[-1])
        if main is not None:
            for before in preludes:
                yield after_future(script, before), False


def _compared(trace: Trace, asked: KnownFailure) -> Iterator[tuple[str, bool]]:
    """A compiled call by itself, compared with the same call uncompiled: what they give, then gradients, then several calls.

    Of each also with what was not executed, first in functions: compiled it may be.
    """
    bundles = [_bundled(trace, cut) for cut in Cut]
    programs = [(made, Script(readable(made.text))) for made in bundles if made is not None]
    groups = _by_function(call for call in trace.calls if call.compiled)[:MOST_COMPARED]
    options = _options(asked.compiled[0]) if asked.compiled else ""
    kinds = [(calls[:1], "") for calls in groups]
    # The program's own check fails after the last call, and several that are compared below are of the first one's object.
    kinds += [(calls[-1:], "") for calls in groups if calls[-1].made != calls[0].made]
    kinds += [
        (calls[:1], gradients)
        for gradients in GRADIENTS
        for calls in groups
        if calls[0].grad and calls[0].is_module_call
    ]
    kinds += [(calls[:MOST_CALLS], "") for calls in groups if len(calls) > 1]
    for calls, gradients in kinds:
        for made, script in programs:
            write = partial(compared_script, script, options=options, gradients=gradients)
            yield from ((text, True) for text in _written(trace, made, calls, {}, write))


def _bundled(trace: Trace, cut: Cut) -> Bundle | None:
    local = {name: module for name, module in trace.modules.items() if module.local}
    if MAIN not in local:  # started by another program: its modules are all there is
        local[MAIN] = Module(MAIN, "".join(f"import {name}\n" for name in local))
    elif trace.main_name is not None:
        local = {name: module for name, module in local.items() if name != trace.main_name}
    while local:
        try:
            return bundle({name: _part(trace, module, cut) for name, module in local.items()})
        except (UnbundledError, SyntaxError):
            if cut is not Cut.NOWHERE:
                return None
            # What cannot be put into one file stays imported; such a script fails where that file is not.
            local = {MAIN: local[MAIN]} if len(local) > 1 else {}
    return None


def _part(trace: Trace, module: Module, cut: Cut) -> Part:
    text = module.text
    if module.lines is not None and readable(text) == text:
        text = executed_part(text, module.lines, cut)
    name = trace.main_name or "" if module.name == MAIN else module.name
    package = name if module.package else name.rpartition(".")[0]
    return Part(module.name, text, package, module.origins)


def _by_function(calls: Iterable[Call]) -> list[list[Call]]:
    found: dict[tuple[tuple[str, int], bool], list[Call]] = {}
    for call in calls:
        found.setdefault((call.place, call.flat), []).append(call)
    return list(found.values())


# -- calling the failing function directly ----------------------------------------------------------------------------


def _direct(trace: Trace, asked: KnownFailure, made: Bundle, script: Script, before: str) -> Iterator[tuple[str, bool]]:
    lines = {moment.place: moment for moment in trace.moments if moment.at == asked.calls}
    for text in _lines_alone(trace, asked, made, script, [*reversed(lines.values())][:MOST_LINES_ALONE]):
        yield text, True
    for calls in reversed(_by_function(trace.calls)):
        failing = [call for call in calls if call.at == asked.calls] or calls[-1:]
        for chosen in (failing[:1], calls[:MOST_CALLS] if len(calls) > 1 else []):
            for options in dict.fromkeys(_options(call) for call in asked.compiled[:3]) if chosen else ():
                for text in _said(trace, made, script, chosen, options, before):
                    yield text, len(chosen) == 1


def _with_ones(trace: Trace) -> Trace:
    """Ones for random numbers: what a check of the program's lets pass where it asks for equal tensors, or positive ones."""

    def ones(text: str) -> str:
        return text.replace("torch.randn(", "torch.ones(")

    calls = (replace(call, made=call.made and ones(call.made), arguments=ones(call.arguments)) for call in trace.calls)
    moments = (
        replace(moment, names={name: ones(text) for name, text in moment.names.items()}) for moment in trace.moments
    )
    return replace(trace, calls=tuple(calls), moments=tuple(moments))


def _lines_alone(
    trace: Trace, asked: KnownFailure, made: Bundle, script: Script, moments: Sequence[Moment]
) -> Iterator[str]:
    """The failing line of each function by itself, the innermost function first."""
    for moment in moments:
        module = trace.modules.get(moment.place[0])
        # In the text as it was executed: where it is made readable, its lines have other numbers and the same places.
        place = place_of(Script(module.text.lstrip("\ufeff")), moment.function, moment.place[1]) if module else None
        if module is None or place is None:
            continue
        there, imports = script, dict[str, str]()
        if module.local:
            top = made.names.get((module.name, place.definitions[0]), "")
            place = replace(place, definitions=(top, *place.definitions[1:]))
        else:
            there = Script(readable(module.text))
        for text in filter(None, (without_its_body(there, place), there)):
            statement = statement_at(text, place)
            found = as_function(text, statement, list(moment.names)) if statement is not None else None
            if found is None:
                continue
            if not module.local:
                given = {name: import_of(there, module, name) for name in sorted(found.needs)}
                imports = {name: f"{line}\n" for name, line in given.items() if line is not None}
            arguments = ", ".join(moment.names[name] for name in found.parameters)
            call = Call(moment.at, found.name, None, None, arguments, grad=moment.grad)
            for options in dict.fromkeys(_options(call) for call in asked.compiled[:1]):
                yield from _said(trace, made, script, [call], options, "", found.text, imports)


def _said(
    trace: Trace,
    made: Bundle,
    script: Script,
    calls: Sequence[Call],
    options: str,
    before: str,
    definition: str = "",
    given: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    for text in _written(
        trace, made, calls, given, partial(direct_script, script, options=options, definition=definition)
    ):
        yield text
        if before:
            yield after_future(Script(text), before)


def _written(
    trace: Trace, made: Bundle, calls: Sequence[Call], given: Mapping[str, str], write: Callable[..., str]
) -> Iterator[str]:
    """These calls as `write` puts them, below the imports that are `given` and those of installed packages."""
    imports = dict(given)

    def resolve(module: str, name: str, foreign: bool) -> str | None:
        known = trace.modules.get(module)
        if (module, name) in made.names:
            return made.names[module, name]
        if known.local if known is not None else not foreign:
            return None
        return imports.setdefault(name, f"from {module} import {name}\n") and name

    said = spoken(calls, resolve)
    if said is not None:
        with contextlib.suppress(SyntaxError):
            yield after_future(Script(write(said, imported=imports)), "".join(imports.values()))


def _options(call: CompileCall) -> str:
    """The keyword arguments of torch.compile as they were, less those that only Inductor knows."""
    told = []
    if call.custom_backend and call.backend and call.backend.isidentifier():
        told.append(f"backend={call.backend}")
    if call.fullgraph:
        told.append("fullgraph=True")
    if call.dynamic is not None:
        told.append(f"dynamic={call.dynamic}")
    return ", ".join(told)


def with_text(trace: Trace | None, text: str) -> Trace:
    """What was seen, with the program's own text: a run does not tell it where it is no file, or where nothing came back."""
    main = {MAIN: Module(MAIN, text)}
    return replace(trace, modules={**main, **trace.modules}) if trace is not None else Trace(modules=main)
