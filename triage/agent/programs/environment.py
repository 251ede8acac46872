"""Tell what this interpreter has: `python boot.py programs.environment [--collect-env]` prints one JSON object.

Facts that cannot be had are left out, or null with a reason beside them; nothing here fails.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys


def main(arguments):
    facts = {"python": platform.python_version(), "executable": sys.executable, "platform": platform.platform()}
    facts["fork"] = hasattr(os, "fork")
    facts["compiler"] = _compiler()
    facts["pip"] = {name: _version(name) for name in ("numpy", "triton", "setuptools", "packaging", "pytest")}
    try:
        import torch
    except BaseException as error:
        facts["torch_error"] = "%s: %s" % (type(error).__name__, error)
    else:
        facts.update(_torch_facts(torch))
        if "--collect-env" in arguments:
            facts["collect_env"] = _collect_env()
    print("\n" + json.dumps(facts))
    return 0


def _torch_facts(torch):
    facts = {"torch": str(torch.__version__), "git_version": getattr(torch.version, "git_version", None)}
    facts["debug"] = bool(getattr(torch.version, "debug", False))
    facts["cuda_built"] = torch.version.cuda
    try:
        facts["cuda_devices"] = torch.cuda.device_count()
        facts["cuda_device"] = torch.cuda.get_device_name(0) if facts["cuda_devices"] else None
    except Exception as error:
        facts["cuda_devices"], facts["cuda_device"] = 0, "%s: %s" % (type(error).__name__, error)
    if facts["cuda_devices"]:
        facts["cuda_capability"] = _quietly(lambda: "%d.%d" % torch.cuda.get_device_capability(0))
        facts["cudnn"] = _quietly(torch.backends.cudnn.version)
        facts["driver"] = _driver()
    facts["hip_built"] = getattr(torch.version, "hip", None)
    facts["cpu_capability"] = _quietly(lambda: str(torch.backends.cpu.get_cpu_capability()))
    facts["distributed"] = _quietly(lambda: bool(torch.distributed.is_available()))
    facts["dynamo_error"] = _dynamo_error()
    return facts


def _driver(path="/proc/driver/nvidia/version"):
    """The version of NVIDIA's kernel module; None where that is not told."""
    try:
        with open(path) as file:
            found = re.search(r"Kernel Module\b.*?\s(\d+\.[\d.]+)\s", file.read())
    except OSError:
        return None
    return found.group(1) if found else None


def _dynamo_error():
    """Why torch.compile refuses this platform or Python, None where it does not."""
    try:
        from torch._dynamo.eval_frame import check_if_dynamo_supported

        check_if_dynamo_supported()
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)
    return None


def _collect_env():
    try:
        from torch.utils import collect_env

        run = collect_env.run
        collect_env.run = lambda command: _listed_here(command) or run(command)
        return collect_env.get_pretty_env_info()
    except Exception as error:
        return "torch.utils.collect_env failed: %s: %s" % (type(error).__name__, error)


def _listed_here(command):
    """What `pip list` would print, as `collect_env.run` gives it; None for another command.

    This interpreter knows it in a tenth of pip's time, and also where no pip is installed.
    """
    if not (isinstance(command, list) and command[1:] == ["-mpip", "list", "--format=freeze"]):
        return None
    from importlib.metadata import distributions

    found = {}
    for each in distributions():
        name = each.metadata["Name"]
        if name:
            found.setdefault(re.sub("[-_.]+", "-", name).lower(), "%s==%s" % (name, each.version))
    return 0, "\n".join(found[name] for name in sorted(found)), ""


def _compiler():
    """The C++ compiler Inductor would call: $CXX, else the platform's (torch/_inductor/config.py, cpp.cxx)."""
    name = os.environ.get("CXX") or {"darwin": "clang++", "win32": "cl"}.get(sys.platform, "g++")
    path = shutil.which(name)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, errors="replace", check=False
        )
        version = (done.stdout or done.stderr).splitlines()[0] if done.returncode == 0 else None
    except Exception:
        version = None
    return {"path": path, "version": version}


def _version(name):
    try:
        from importlib.metadata import version

        return version(name)
    except Exception:
        return None


def _quietly(function):
    try:
        return function()
    except Exception:
        return None
