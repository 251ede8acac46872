"""A program of the user's in a freshly forked child of the warm interpreter: `python script.py ARGS`, as nearly as it can be.

It is asked one thing only: does it pass? What it does otherwise says little, since torch has been imported before it began. Where
that may matter to it nothing is said at all: it sets variables, which torch reads when it is imported; a file beside it has the
name of a module that is there already; it uses a part of torch that it did not import. Unlike a candidate it writes where it
likes, runs as many threads as it would, and ends by itself: exit handlers, threads, and the interpreter.
"""

import ast
import gc
import json
import os
import sys
import types

from .. import compat
from ..capture.exception import exit_status
from ..hooks import hook, told_to_end
from . import modules
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
    status = _execute(path, refuse)
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


def _execute(path, refuse):
    """Run the file as `__main__`. The exit status."""
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__cached__ = None
    main.__builtins__ = sys.modules["builtins"]
    sys.modules["__main__"] = main
    gc.enable()
    with open(path, "rb") as file:
        source = file.read()
    try:
        tree = compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        _check_parts(tree, refuse)
        exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as ending:
        if not isinstance(ending.code, (int, type(None))):
            sys.stderr.write("%s\n" % (ending.code,))
        return exit_status(ending)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _check_parts(tree, refuse):
    try:
        modules.check(tree)
    except AttributeError as error:
        refuse(str(error))


def _check_modules(before, folder, refuse):
    """The same of the files of its own that it imported."""
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(folder + os.sep) and file.endswith(".py") and "site-packages" not in file:
            with open(file, "rb") as opened:
                _check_parts(ast.parse(opened.read()), refuse)
