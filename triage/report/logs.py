"""What of a run's output a reader needs: the failure, without what torch and triage print around it.

The file that the run wrote keeps every line; only the quoted copy is made readable.
"""

from __future__ import annotations

import re

from triage.report.log_lines import RANK

_TRACEBACK = re.compile(rf"(?m)^{RANK}Traceback \(most recent call last\):")
_CHAINED = re.compile(
    rf"(?m)^{RANK}(?:The above exception was the direct cause of|During handling of the above exception)"
)
_NOISE = (
    # Lines of carets that newer Pythons print under each line of code.
    (re.compile(rf"(?m)^{RANK}[ \t]+[\^~]+[ \t]*\n"), ""),
    # Frames of the agent, which stands between the script and torch in our runs only.
    (
        re.compile(
            rf"(?m)^{RANK}[ ]+File \"[^\"\n]*[/\\]triage[/\\]agent[/\\][^\"\n]*\", line \d+.*\n"
            rf"(?:{RANK}[ ]{{4,}}.*\n)*"
        ),
        "",
    ),
    # Where the interpreter keeps its packages tells nothing: torch/_dynamo/... does.
    (re.compile(r"(?<=File \")[^\"\n]*[/\\](?:site|dist)-packages[/\\]"), ""),
    # What the elevated logging adds at levels below a warning (the format of torch/_logging).
    (re.compile(rf"(?m)^{RANK}[IVD]\d{{4}} [\d:.]+ \d+ (?:\S+/)?(?:torch|functorch)/\S+ ?.*\n?"), ""),
)


def telling_log(log: str) -> str:
    """The last traceback with the ones that caused it and all that follows; the whole log where there is none."""
    found = list(_TRACEBACK.finditer(log))
    place = len(found) - 1
    while place > 0 and _CHAINED.search(log, found[place - 1].end(), found[place].start()):
        place -= 1
    return readable(log[found[place].start() :] if found else log)


def readable(log: str) -> str:
    """The same text without lines that are there for machines, or because of us."""
    for pattern, replacement in _NOISE:
        log = pattern.sub(replacement, log)
    return log
