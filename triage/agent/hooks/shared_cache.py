"""What compiles may share although each candidate has a cache directory of its own: facts about the machine.

Two answers cost many seconds of compiler time and do not depend on the program: which vector instructions work (a
program is built and loaded for each), and where the precompiled form of torch's own headers lies (found by preprocessing
them). The first candidate that asks finds out, the others read the answer. Only good answers are kept, each under the
torch and the compilers that gave it, so the directory may outlive a run. Runs of the script and fresh processes share them
with the candidates: what the first run found out nobody finds out again.

Nothing here may make a compile fail: an answer that cannot be kept is found out anew.
"""

import contextlib
import functools
import json
import os
import re
import shutil

from .. import compat

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def share(directory):
    """Patch both questions in this interpreter, before any child is forked. Returns the names of what is shared."""
    os.makedirs(directory, exist_ok=True)
    shared = []
    if share_instructions(directory):
        shared.append("vector instructions")
    if share_headers(directory):
        shared.append("precompiled headers")
    return shared


def patches(directory):
    """The same for a program that has not imported Inductor yet and may never do: what to run after which import."""
    return {
        "torch._inductor.cpu_vec_isa": lambda module: share_instructions(directory),
        "torch._inductor.codecache": lambda module: (share_instructions(directory), share_headers(directory)),
    }


def share_instructions(directory):
    """Whether this torch has the question which vector instructions work, and its answers are shared now."""
    isa = compat.vec_isa_probe()
    if not isa:
        return False
    original = getattr(isa.owner, isa.name)
    if not hasattr(original, "_triage_shared"):
        setattr(isa.owner, isa.name, _remembered_probe(original, directory))
    return True


def share_headers(directory):
    """The same for precompiled headers."""
    codecache = compat.header_precompiler()
    if not codecache:
        return False
    if not hasattr(codecache._precompile_header, "_triage_shared"):
        compat.keep_headers_in(codecache, headers_below(directory))
        codecache._precompile_header = _remembered_header(codecache._precompile_header, directory)
    return True


def headers_below(directory):
    """Where the precompiled headers lie: what the orchestrator put there, a link to those of its probes, or a folder."""
    place = os.path.realpath(os.path.join(directory, "headers"))
    os.makedirs(place, exist_ok=True)
    return place


def _machine():
    """The torch and the compilers that an answer holds for."""
    torch = compat.loaded("torch")
    parts = [str(torch.__version__), torch.__file__]
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        path = shutil.which(name) if name else None
        if path is not None:
            facts = os.stat(path)
            parts.append("%s %d %d" % (os.path.realpath(path), facts.st_size, facts.st_mtime_ns))
    return "\n".join(parts)


def _remembered_probe(original, directory):
    @functools.wraps(original)
    def works(self, *code):
        path = _place(directory, "isa", _machine(), str(self), str(self.build_arch_flags()), *code)
        if os.path.exists(path):
            return True
        with _lock(path):
            if os.path.exists(path):
                return True
            answer = original(self, *code)
            if answer:
                _write(path, "")
            return answer

    works._triage_shared = True
    return works


def _remembered_header(original, directory):
    @functools.wraps(original)
    def precompile_header(header, command_line, **options):
        told = _ADDRESS.sub("", repr(sorted(options.items())))  # a set of instructions is shown with its methods
        path = _place(directory, "header", _machine(), header, command_line, told)
        known = _read(path)
        if known is not None:
            return known
        with _lock(path):
            known = _read(path)
            if known is None:
                known = original(header, command_line, **options)
                _write(path, known)
            return known

    precompile_header._triage_shared = True
    return precompile_header


def _place(directory, kind, *parts):
    import hashlib  # of programs that use Inductor alone

    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]
    return os.path.join(directory, "%s-%s.json" % (kind, digest))


def _read(path):
    """The remembered header, if it is still there."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return found if os.path.exists(found) else None


def _write(path, value):
    part = "%s.%d.part" % (path, os.getpid())
    with contextlib.suppress(OSError):
        with open(part, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(part, path)


@contextlib.contextmanager
def _lock(path):
    """One finds out, the others wait for it. The lock goes with its holder, however that ends."""
    import fcntl

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # then each finds out for itself
            file = stack.enter_context(open(path + ".lock", "w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
