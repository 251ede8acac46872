"""A text is run as `__main__` in a forked child, and ends as `python FILE` would."""

import ast
import builtins
import gc
import sys
import types

from ..capture.exception import exit_status


def run(source, path, check):
    """Run it, once `check` has seen its tree. The file is there, so that Dynamo, inspect and tracebacks can read it.

    Returns the exit status; what it raises is printed as the interpreter does.
    """
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__cached__ = None
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    gc.enable()
    try:
        tree = compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        check(tree)
        exec(compile(tree, path, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as ending:
        if not isinstance(ending.code, (int, type(None))):
            sys.stderr.write("%s\n" % (ending.code,))
        return exit_status(ending)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:
        error.__traceback__ = _without_us(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _without_us(trace):
    """The traceback as a fresh process would print it."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace
