"""Runs a changed script in the place of the one that was asked for: `python overlay_main.py SCRIPT ARGS...`.

Nobody else starts it: `hooks/overlay.py` does, once the interpreter that was to run the script has come up.
"""

import importlib
import sys

importlib.import_module("_triage_agent.hooks.overlay").run_script(sys.argv[1:])
