"""What the complaints of uv and pip mean: is it this version, or would every version fail the same way?"""

from __future__ import annotations

import re
from enum import Enum


class Trouble(Enum):
    """Why an installation failed. `DISK` and `NETWORK` concern every version, the others this one."""

    DISK = "disk"
    NETWORK = "network"
    NO_WHEEL = "no wheel"
    CONFLICT = "conflict"
    OTHER = "other"


# In this order: a full disk may end in a failed download, and a missing file is no failure of the network.
_TELLING: tuple[tuple[Trouble, tuple[str, ...]], ...] = (
    (
        Trouble.DISK,
        (
            r"No space left on device",
            r"os error 28\b",
            r"Errno 28\b",
            r"[Dd]isk quota exceeded",
            r"not enough space on the disk",
        ),
    ),
    # pip goes on without an index that it cannot reach, and then finds nothing.
    (
        Trouble.NETWORK,
        (
            r"(?:NewConnectionError|name resolution|not known|ProxyError|Timeout|certificate verify).*from versions: none",
        ),
    ),
    (
        Trouble.NO_WHEEL,
        (
            r"no version of torch\b",
            r"torch\S* has no (?:usable )?wheels?",
            r"torch\S* has no wheels? with a matching",
            r"only wheels are available for torch",
            r"No matching distribution found for torch\b",
            r"satisfies the requirement torch\b",
            r"is not a supported wheel on this platform",
            r"HTTP status client error \(404",
            r"404 Client Error",
            r"HTTP error 404",
        ),
    ),
    (
        Trouble.NETWORK,
        (
            r"dns error",
            r"Name or service not known",
            r"name resolution",
            r"nodename nor servname",
            r"Could not resolve host",
            r"Network is unreachable",
            r"Connection (?:refused|reset|aborted|timed out)",
            r"tcp connect error",
            r"client error \(Connect\)",
            r"error sending request",
            r"operation timed out",
            r"Read timed out",
            r"(?:Read|Connect)Timeout",
            r"Max retries exceeded",
            r"NewConnectionError",
            r"ProxyError",
            r"request or response body error",
            r"IncompleteRead",
            r"certificate verify failed",
            r"invalid peer certificate",
            r"\(?(?:401|403|407|429|50[0-9]) (?:Unauthorized|Forbidden|Proxy|Too Many|Internal|Bad Gateway|Service|Gateway)",
            r"network connectivity is disabled",
        ),
    ),
    (
        Trouble.CONFLICT,
        (
            r"requirements are unsatisfiable",
            r"ResolutionImpossible",
            r"conflicting dependencies",
            r"No solution found",
            r"No matching distribution found",
        ),
    ),
)
_PATTERNS = tuple((trouble, re.compile("|".join(parts))) for trouble, parts in _TELLING)
_MARKS = re.compile(r"^(?:(?i:error|cause|fatal): |[×╰─▶│] ?)+")
_REASON = re.compile(r"\bBecause .*?\bunsatisfiable\b")
_ERROR_LINE = re.compile(r"(?i)error|×|fatal")


def read_trouble(text: str) -> tuple[Trouble, str]:
    """(what kind of trouble, the line that tells it) from the output of an installer that failed."""
    flat = " ".join(text.split())  # uv wraps its sentences
    for trouble, pattern in _PATTERNS:
        found = pattern.search(flat)
        if found is not None:
            reason = _REASON.search(flat)  # uv's explanation says more than the line that announces it
            if reason is not None:
                return trouble, reason.group(0)[:300]
            line = next((line.strip() for line in text.splitlines() if pattern.search(line)), found.group(0))
            return trouble, _MARKS.sub("", line)[:300]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = next((line for line in lines if _ERROR_LINE.match(line)), lines[-1] if lines else "")
    return Trouble.OTHER, _MARKS.sub("", telling)[:300]
