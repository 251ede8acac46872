"""One candidate, in a freshly forked child of the warm interpreter: it becomes `python repro.py` as nearly as it can.

Its directory: `cwd/repro.py` (where it runs), `channel/` (events of the agent), `cache/` (compiler caches), `tmp/`.
Variables that torch reads while it is imported (OMP_NUM_THREADS, TORCH_LOGS, most TORCHINDUCTOR_*) have no effect in here.
"""

import os
import random
import signal
import sys

from .. import compat
from ..hooks import confine, hook, shared_cache
from . import as_main, modules, phases, proc

SCRIPT = "repro.py"
TORCH_DEFAULT_SEED = 67280421310721  # default_rng_seed_val in c10/core/GeneratorImpl.h


def run(request, out, err):
    """Be the candidate. Never returns; whatever happens in here is the candidate's outcome."""
    status = 70
    try:
        paths = _directories(request["root"])
        become_a_process(out, err)
        shared = os.path.dirname(os.environ.get("TORCHINDUCTOR_CACHE_DIR", ""))  # of the warm interpreter
        confine.install([request["root"], shared, shared_cache.headers_below(shared), request.get("kernels")])
        _environment(request, paths)
        recorder = hook.install(_agent_config(request, paths["channel"]))
        phases.install(recorder, request.get("cut_off"))
        status = _execute(request["source"], os.path.join(paths["cwd"], SCRIPT))
        recorder.end()
    finally:
        proc.leave(status)


def _directories(root):
    paths = {name: os.path.join(root, name) for name in ("cwd", "channel", "cache", "tmp")}
    for path in paths.values():
        os.makedirs(path, exist_ok=True)
    return paths


def become_a_process(out, err):
    """Own session, own streams, the signals of a fresh process, none of the server's descriptors."""
    os.setsid()
    proc.die_with_parent()
    proc.volunteer_for_oom_killer()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, place in ((nothing, 0), (out, 1), (err, 2)):
        os.dup2(source, place)
        os.close(source)
    # A crash loses what is buffered, so lines are written as they end.
    sys.stdout.reconfigure(line_buffering=True)


def _environment(request, paths):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = paths["cache"]
    os.environ["TMPDIR"] = paths["tmp"]
    os.environ["TORCH_EXTENSIONS_DIR"] = os.path.join(paths["tmp"], "extensions")
    # Triton's kernels are known by their text: one that could not be built is not in there.
    os.environ["TRITON_CACHE_DIR"] = os.path.join(request.get("kernels") or paths["cache"], "triton")
    for name, value in (request.get("env") or {}).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    sys.modules["tempfile"].tempdir = None
    os.chdir(paths["cwd"])
    reseed()


def reseed():
    """Random numbers begin as in a fresh process: each has a seed of its own, unless this torch starts from a fixed one."""
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    generator = sys.modules["torch"].default_generator
    if generator.initial_seed() != TORCH_DEFAULT_SEED:
        generator.seed()


def _agent_config(request, channel):
    return {
        "channel": channel,
        "rung": request.get("rung"),
        "accuracy": request.get("accuracy"),
        "kernels": request.get("kernels"),
        "stacks_signal": proc.STACKS_SIGNAL,
    }


def _execute(source, path):
    """Run the text from a file. The exit status."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    compat.leave_unnamed(path)
    sys.argv = [SCRIPT]
    sys.path.insert(0, os.path.dirname(path))
    return as_main.run(source, path, modules.check)
