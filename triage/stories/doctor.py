"""Is this target usable? One check per thing that a triage needs, each with what to do about it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from triage.environments.describe import TargetEnvironment, describe_target
from triage.model.places import RUNS
from triage.model.rungs import LADDER
from triage.model.stage import OutcomeKind
from triage.model.text import first_line
from triage.probe.run import Probe, ProbeRequest, run_probe
from triage.probe.target import Target, find_python
from triage.session.session import neutral_store

_TRIVIAL = "import torch\nprint(torch.compile(lambda x: x.relu() + 1)(torch.ones(8)).sum().item())\n"
SPACE_BYTES = 1024**3
LIMIT = 120.0  # seconds for one rung
STUCK = "ask again when the machine has less to do: if it does not end then, the environment, not a script, is broken"


@dataclass(frozen=True)
class Check:
    """`state` is good, warn or bad; `advice` says what to type."""

    name: str
    state: str
    text: str
    advice: str = ""


Describe = Callable[[str], TargetEnvironment]
Run = Callable[[ProbeRequest], Probe]


def described(python: str) -> TargetEnvironment:
    """What the interpreter says of itself, without the long list of versions."""
    return describe_target(python, collect_env=False)


def examine(wanted: str | None, describe: Describe = described, run: Run = run_probe) -> Iterator[Check]:
    """The checks, in order, as they are made. Raises TargetError where there is no interpreter at all."""
    python = find_python(wanted)
    environment = describe(python)
    facts = environment.facts
    yield Check("interpreter", "good", f"{python} (Python {facts.get('python')})")
    if environment.torch is None:
        yield Check(
            "torch", "bad", environment.torch_error or "cannot be imported", "pip install torch, or --python PATH"
        )
        return
    yield Check("torch", "good", environment.torch)
    if facts.get("dynamo_error"):
        yield Check("dynamo", "bad", str(facts["dynamo_error"]), "use a Python that this torch can compile for")
        return
    yield _compiler(environment)
    yield _triton(environment)
    yield from _places()
    yield Check(
        "fork",
        "good" if facts.get("fork") else "warn",
        "candidates run in forked children"
        if facts.get("fork")
        else "no fork here: a fresh process per candidate, slower",
    )
    yield from _rungs(python, run)


def _compiler(environment: TargetEnvironment) -> Check:
    compiler = environment.facts.get("compiler")
    if compiler and compiler.get("version"):
        return Check("compiler", "good", f"{compiler['version']} ({compiler['path']})")
    text = f"{compiler['path']} does not run" if compiler else "no C++ compiler was found (g++, clang++, $CXX)"
    return Check("compiler", "bad", f"{text}; Inductor cannot build for CPU", "install g++, or set CXX")


def _triton(environment: TargetEnvironment) -> Check:
    facts = environment.facts
    version = (facts.get("pip") or {}).get("triton")
    if not facts.get("cuda_devices"):
        return Check("device", "good", "cpu" + (f", triton {version} unused" if version else ""))
    if not version:
        return Check("device", "bad", f"{facts.get('cuda_device')} without Triton", "pip install triton")
    return Check("device", "good", f"{facts.get('cuda_device')}, CUDA {facts.get('cuda_built')}, triton {version}")


def _places() -> Iterator[Check]:
    temporary = Path(tempfile.gettempdir())
    free = shutil.disk_usage(temporary).free
    enough = free > SPACE_BYTES
    yield Check(
        "temporary",
        "good" if enough else "warn",
        f"{temporary}, {free / 1024**3:.1f} GiB free",
        "" if enough else "set TMPDIR to a place with more room",
    )
    store = neutral_store()
    yield Check(
        "cache", "good" if store else "warn", str(store) if store else "no cache directory: every probe starts cold"
    )
    writable = os.access(Path.cwd(), os.W_OK)
    yield Check(
        "output",
        "good" if writable else "warn",
        str(Path.cwd() / RUNS),
        "" if writable else "this directory cannot be written to: use --out DIR",
    )


def _rungs(python: str, run: Run) -> Iterator[Check]:
    """A trivial function must compile on every rung, else the environment would be blamed on the compiler."""
    with tempfile.TemporaryDirectory(prefix="triage-doctor-") as folder:
        script = Path(folder) / "trivial.py"
        script.write_text(_TRIVIAL, encoding="utf-8")
        target = Target(python, (python, str(script)), Path(folder), script)
        for rung in (rung.name for rung in LADDER):
            probe = run(ProbeRequest(rung, target, rung, LIMIT, Path(folder), neutral=neutral_store()))
            if not probe.outcome.failed:
                yield Check(rung, "good", f"compiles a trivial function ({probe.outcome.seconds:.1f} s)")
                continue
            # A new environment, whose modules Python compiles at each start, is slow.
            if probe.outcome.kind is OutcomeKind.HANG:
                yield Check(rung, "bad", f"did not end in {LIMIT:.0f} s", STUCK)
                continue
            message = first_line(probe.signature.message)[:160] if probe.signature else ""
            kind = probe.signature.exception_type if probe.signature else probe.outcome.kind.value
            yield Check(rung, "bad", f"{kind}: {message}", "the environment, not a script, is broken: repair it first")
