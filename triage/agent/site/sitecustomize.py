"""The way in: Python imports a module of this name at start-up, and this directory comes first on PYTHONPATH.

It loads the user's own sitecustomize, if there is one further down the path, and then installs the agent's hook. The
agent package lives one directory up and is loaded by file location, so nothing of it becomes importable by the target.
"""

import os
import sys


def _chain_load(here):
    """Run the sitecustomize that would have been found without us."""
    import importlib.machinery
    import importlib.util

    others = [entry for entry in sys.path if os.path.realpath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    ours = sys.modules.get("sitecustomize")
    sys.modules["sitecustomize"] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # Python itself only reports this, and goes on
        sys.modules["sitecustomize"] = ours
        sys.stderr.write("Error in sitecustomize: %s: %s\n" % (type(error).__name__, error))


def _load_agent():
    import importlib.util

    agent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location("_triage_boot", os.path.join(agent, "boot.py"))
    boot = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(boot)
    boot.load_agent()


def _config():
    """What the probe asks for, `{}` where nobody does."""
    told = os.environ.get("TRIAGE_AGENT")
    if not told:
        return {}
    import json

    return json.loads(told)


def _restart(config):
    """Start anew where the script itself is to have another text: before anything has run that would run twice."""
    overlay = config.get("overlay")
    if overlay:
        _load_agent()
        from _triage_agent.hooks import overlay as changed

        changed.restart(overlay)


def _install(config):
    if config:
        _load_agent()
        from _triage_agent.hooks import hook, told_to_end

        recorder = hook.install(config)
        told_to_end.install(recorder)
        if config.get("standby"):
            from _triage_agent.warm import standby

            recorder.standby = standby.Standby(recorder, config["standby"])


def _safely(function, *given):
    try:
        return function(*given)
    except Exception as error:  # the target runs on without the agent, and the probe says that it did
        sys.stderr.write("triage: the agent could not start: %s: %s\n" % (type(error).__name__, error))
        return None


_here = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or ".") != _here]
_wanted = _safely(_config) or {}
_safely(_restart, _wanted)
_chain_load(_here)
_safely(_install, _wanted)
