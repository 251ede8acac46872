"""Start one of the agent's own programs in the target interpreter: `python boot.py ROOM.NAME ARGS...`.

The agent package is loaded by file location under a private name; nothing is added to `sys.path`.
"""

import importlib
import importlib.util
import os
import sys

PACKAGE = "_triage_agent"


def load_agent():
    """The agent package, loaded once."""
    if PACKAGE not in sys.modules:
        here = os.path.dirname(os.path.abspath(__file__))
        spec = importlib.util.spec_from_file_location(
            PACKAGE, os.path.join(here, "__init__.py"), submodule_search_locations=[here]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = module
        spec.loader.exec_module(module)
    return sys.modules[PACKAGE]


if __name__ == "__main__":
    load_agent()
    here = os.path.dirname(os.path.abspath(__file__))
    # The directory of this file was put first on the path by the interpreter; the agent's files must not be importable.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    sys.exit(importlib.import_module(PACKAGE + "." + sys.argv[1]).main(sys.argv[2:]))
