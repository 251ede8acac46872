"""torch as it is installed and loaded."""

import os
import sys

from .feature import Missing


def loaded(name):
    """A module that has been imported already, or None."""
    return sys.modules.get(name)


def imported_when_named():
    """Names of the parts of torch that are imported when they are looked up in it (since 2.1; `torch.__getattr__`)."""
    return {"torch.%s" % name for name in getattr(sys.modules.get("torch"), "_lazy_modules", ())}


def home_of_torch():
    """The directory below which torch's own files lie, as the beginning of their names."""
    return os.path.dirname(os.path.abspath(sys.modules["torch"].__file__)) + os.sep


def temporary_files_of_torch():
    """Names of what importing torch put among the temporary files (2.6 to 2.9 at least).

    It is for RemoteModule, which needs other processes.
    """
    made = getattr(sys.modules.get("torch.distributed.nn.jit.instantiator"), "_TEMP_DIR", None)
    return {os.path.basename(made.name)} if hasattr(made, "name") else set()


def default_setting(config, key):
    """What a setting of a torch config module is by default, e.g. key `triton.cudagraphs`."""
    try:
        entry = config._config[key]
        if hasattr(entry, "default"):
            return entry.default
        return config._default[key]  # before 2.6
    except Exception:
        return Missing("%s has no default on record" % key)


def may_use_accelerator(torch):
    """Whether this torch can find a GPU here: then nothing may run in the warm interpreter but imports."""
    version = torch.version
    built = any(getattr(version, name, None) for name in ("cuda", "hip", "xpu"))
    devices = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg", "/dev/dri")
    return built and any(os.path.exists(path) for path in devices)
