"""A program of the user's in a freshly forked child of the warm interpreter: `python script.py ARGS`, as nearly as it can be.

It is asked one thing only: does it pass? What it does otherwise says little, since torch has been imported before it began. Where
that may matter to it nothing is said at all: it sets variables, which torch reads when it is imported; a file beside it has the
name of a module that is there already; it uses a part of torch that it did not import. Unlike a candidate it writes where it
likes, runs as many threads as it would, and ends by itself: exit handlers, threads, and the interpreter.
"""

import ast
import json
import os
import sys

from .. import compat, whose
from ..hooks import hook, overlay, told_to_end
from . import as_main, modules
from .candidate import become_a_process, reseed

REFUSED = "refused"  # a file in the request's root, which says why nothing is said
STATUS = 113


def run(request, out, err):
    """Be the program. Returns its exit status."""
    become_a_process(out, err)
    os.environ.clear()
    os.environ.update(request["env"])
    sys.modules["tempfile"].tempdir = None
    os.chdir(request["cwd"])
    reseed()
    path, refuse = os.path.abspath(request["script"]), _Refuse(request["root"])
    folder = os.path.dirname(os.path.realpath(path))
    if _hides(folder):
        refuse("a module beside it has the name of one that is there already")
    told_to_end.install(hook.install(json.loads(os.environ["TRIAGE_AGENT"])))
    _watch_variables(refuse)
    sys.argv = [request["script"], *request["args"]]
    sys.path.insert(0, folder)
    before = set(sys.modules)
    status = as_main.run(overlay.script_text(path), path, lambda tree: _check_parts(tree, refuse))
    _check_modules(before, folder, refuse)
    return status


class _Refuse(object):
    """Ends this process without an answer."""

    def __init__(self, root):
        self._root = root

    def __call__(self, why):
        with open(os.path.join(self._root, REFUSED), "w", encoding="utf-8") as file:
            file.write(why)
        os._exit(STATUS)


def _hides(folder):
    """Whether a fresh process would import something from here that this one has imported from elsewhere."""
    for name in os.listdir(folder):
        stem, suffix = os.path.splitext(name)
        module = stem in sys.modules and (suffix in (".py", ".so", ".pyd") or "." in stem)
        if module or (name in sys.modules and os.path.exists(os.path.join(folder, name, "__init__.py"))):
            return True
    return False


def _watch_variables(refuse):
    """From the first variable that is set by anybody but torch nothing is said: it might have been read before."""
    torch_itself = os.path.dirname(compat.loaded("torch").__file__) + os.sep

    def watch(event, args):
        if event in ("os.putenv", "os.unsetenv"):
            frame = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename in (
                os.__file__,
                "<frozen os>",
                "<frozen _collections_abc>",
            ):
                frame = frame.f_back
            if frame is not None and not frame.f_code.co_filename.startswith(torch_itself):
                refuse("it sets a variable: %s" % os.fsdecode(args[0]))

    sys.addaudithook(watch)


def _check_parts(tree, refuse):
    try:
        modules.check(tree)
    except AttributeError as error:
        refuse(str(error))


def _check_modules(before, folder, refuse):
    """The same of the files of its own that it imported."""
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(folder + os.sep) and file.endswith(".py") and not whose.is_installed(file):
            with open(file, "rb") as opened:
                _check_parts(ast.parse(opened.read()), refuse)
