"""A warm interpreter that has imported more than torch: what a program's text begins with may take seconds, in each candidate.

It is a child of the first one, and serves by two pipes that have names in the request's root. What it forks begins with the same
import statements: a candidate lives on nothing that it did not import. Not for what is compiled while it is imported, or has
`torch.compile` under a name of its own: of that the agent in a candidate would not hear.
"""

import os
import sys

from ..hooks import confine, imports, shared_cache
from . import proc
from .candidate import become_a_process

REQUESTS, REPLIES = "requests", "replies"


def begin(request, out, err):
    """Be one, of which candidates may be asked. Returns the descriptors of requests and replies."""
    become_a_process(out, err)
    root = request["root"]
    shared = os.path.dirname(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    # Where candidates of this one will write too, each in its own place.
    confine.install([os.path.dirname(root), shared, shared_cache.headers_below(shared), request.get("kernels")])
    requests = os.open(os.path.join(root, REQUESTS), os.O_RDONLY | os.O_NONBLOCK)
    return requests, os.open(os.path.join(root, REPLIES), os.O_WRONLY)


def execute(statements):
    """Import. Returns what speaks against candidates that are forked after these statements, in words."""
    why = _why_not(statements)
    proc.settle()
    return why


def _why_not(statements):
    torch = sys.modules["torch"]
    compile_of_torch, compiled = torch.compile, []

    def told(*args, **kwargs):
        compiled.append(args)
        return compile_of_torch(*args, **kwargs)

    threads, before = len(os.listdir("/proc/self/task")), set(sys.modules)
    torch.compile = told
    try:
        with imports.garbage_kept():
            exec(compile(statements, "<imports>", "exec", dont_inherit=True), {"__name__": "__main__"})
    except BaseException as error:
        return "%s: %s" % (type(error).__name__, str(error)[:500])
    finally:
        torch.compile = compile_of_torch
    brought = [sys.modules[name] for name in set(sys.modules) - before]
    if compiled or any(value is told for module in brought for value in list(getattr(module, "__dict__", {}).values())):
        return "torch.compile is used while it is imported"
    if len(os.listdir("/proc/self/task")) > threads:
        return "it begins threads, of which a fork has none"
    if torch.cuda.is_initialized():
        return "it uses a GPU, which no fork can"
    return ""
