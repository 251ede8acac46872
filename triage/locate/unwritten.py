"""A check of the script's own that fails: does memory decide that the script itself never wrote (`torch.empty`)?

What lies in such memory is chance, and depends on what ran before: so a script may fail compiled and pass uncompiled that no
compiler has a part in. It is run uncompiled where that memory holds zeros, and where it holds something else. Every run here has
the same seeds. Of a compiler's failure only finite numbers speak against the script: NaN times zero is what no garbage makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from triage.locate.conclude import Conclusion
from triage.locate.leftovers import looks_alike
from triage.locate.outcomes import is_script_check
from triage.locate.walk import Walk
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, OwnFault, Stage
from triage.probe.launch import text_of
from triage.probe.run import Probe

FILLED = replace(UNCOMPILED, name="uncompiled, memory filled")
ZEROS = "zeros"
OF_THE_SCRIPT, OF_A_COMPILER = ("large", "nan"), ("large",)  # what lies in it beside zeros, as the agent names it
MOST_PLACES, MOST_FILES = 4, 300
_CALLS = re.compile(r"\b(?:new_)?empty(?:_like|_permuted|_strided)?\(")
_IMPORTS = re.compile(r"(?m)^\s*(?:from|import)\s.*$")
_NAMES = re.compile(r"\w+")


def worth_checking(walk: Walk, found: Conclusion) -> bool:
    """Whether such memory may be what decides: the program's text asks for it, and its graphs are not known to be wrong."""
    if walk.unwritten is not None or walk.spoiled is not None or found.outcome is None or found.stage is Stage.NONE:
        return False
    own = found.own_fault in (OwnFault.UNCOMPILED, OwnFault.WRAPPED, OwnFault.BY_CHANCE)
    if not (own or found.stage is not Stage.SCRIPT) or found.door is not None or not is_script_check(found.outcome):
        return False
    wrong = walk.checked_first is not None and walk.checked_first.notes.wrong is not None
    return not wrong and any(map(_CALLS.search, _texts(walk)))


def check(walk: Walk, found: Conclusion) -> None:
    """Run the script uncompiled with such memory filled. It decides where zeros pass, twice, and something else fails, twice."""
    failed = walk.start
    runs = 0

    def run(fill: str, only: tuple[str, ...] = ()) -> Probe:
        nonlocal runs
        runs += 1
        return walk.ask_with_seed(FILLED, f"memory-{fill}-{runs}", failed, unwritten={"fill": fill, "only": only})

    walk.unwritten = ()
    zeros = run(ZEROS)
    places = zeros.notes.unwritten
    if zeros.outcome.kind is not OutcomeKind.OK or not places:
        return
    fills = OF_THE_SCRIPT if found.stage is Stage.SCRIPT else OF_A_COMPILER
    fill = next((fill for fill in fills if looks_alike(run(fill), failed)), None)
    if fill is None or run(ZEROS).outcome.kind is not OutcomeKind.OK:
        return
    alone = (place for place in places[:MOST_PLACES] if looks_alike(run(fill, (place,)), failed))
    walk.unwritten = tuple(islice(alone, 1))


def _texts(walk: Walk) -> Iterator[str]:
    """The texts of the script and of what it imports from beside and below it; all that lies there, of a program without one."""
    script = walk.target.script
    folder = script.parent if script is not None else walk.target.cwd
    files = list(islice(folder.rglob("*.py"), MOST_FILES))
    waiting = files if script is None else [script]
    seen = set(waiting)
    while waiting:
        text = text_of(waiting.pop())
        yield text
        named = {name for line in _IMPORTS.findall(text) for name in _NAMES.findall(line)}
        new = {file for file in files if (file.parent if file.stem == "__init__" else file).stem in named} - seen
        seen |= new
        waiting += new
