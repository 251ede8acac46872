"""Can this interpreter compile anything at all? `python boot.py programs.smoke RUNGS...` prints one JSON object per line.

The first line has the facts of the environment, then one line per rung as it is tried, so that a crash of one does not lose
the others: `{"rung": "inductor", "error": null}`. A rung passes where a trivial function compiles and gives eager's result.
"""

import json
import os
import platform
import sys

from .environment import _torch_facts


def main(arguments):
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    facts = {"python": platform.python_version(), "platform": platform.platform(), "machine": platform.machine()}
    facts["packages"] = _packages()
    try:
        import torch
    except BaseException as error:
        _say(dict(facts, torch=None, torch_error="%s: %s" % (type(error).__name__, error)))
        return 0
    facts.update(_torch_facts(torch))
    _say(facts)
    for rung in arguments:
        _say({"rung": rung, "error": _try(torch, rung, "cpu")})
    if facts.get("cuda_devices"):
        _say({"rung": "inductor on cuda", "error": _try(torch, "inductor", "cuda")})
    return 0


def _try(torch, rung, device):
    """Why the rung cannot be used; None where it can."""
    try:
        torch._dynamo.reset()
        x = torch.arange(8, dtype=torch.float32, device=device) - 3.0

        def trivial(x):
            return x.relu() + 1

        found = torch.compile(trivial, backend=rung)(x)
        return None if torch.equal(found, trivial(x)) else "a trivial function gives a wrong result"
    except BaseException as error:
        return _one_line("%s: %s" % (type(error).__name__, error))


def _one_line(text):
    """The lines that say something, up to the advice."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = []
    for line in lines:
        if line.startswith(("Set TORCH", "You can suppress", "from user code")):
            break
        telling.append(line)
    return " ".join(telling)[:600]


def _packages():
    """Names and versions of what is installed."""
    try:
        from importlib.metadata import distributions

        return {str(entry.metadata["Name"]).lower(): entry.version for entry in distributions()}
    except Exception:
        return {}


def _say(facts):
    sys.stdout.write("\n" + json.dumps(facts) + "\n")
    sys.stdout.flush()
