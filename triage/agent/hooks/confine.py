"""A candidate writes in its own directory and nowhere else: what it would do to the person's files is refused.

An edited program may write anywhere (a checkpoint's path lost its parent, a guard around a deletion is gone). Python's
own file operations are seen through audit events; torch.save opens its file in C++ and is wrapped. Caches of compilers
are not the person's files and stay usable.
"""

import os
import sys
import tempfile

VARIABLE = "TRIAGE_CONFINE"
_CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.utime",
            "shutil.rmtree", "shutil.copyfile", "shutil.move")  # fmt: skip
_CACHES = (".triton", os.path.join(".cache", "torch"), ".nv", ".cuda")


class OutsideError(PermissionError):
    """A candidate wanted to write outside of its directory."""


def install_if_asked(channel, *shared):
    """In a process of its own: the variable names the directory. Temporary files and caches have private places there.

    What is `shared` with other processes is ours, and stays usable.
    """
    place = os.environ.pop(VARIABLE, None)
    if place:
        install([place, channel, os.environ.get("TMPDIR"), os.environ.get("TORCHINDUCTOR_CACHE_DIR"), *shared])


def install(places):
    """Refuse changes outside these directories, for the rest of this process."""
    home = os.path.expanduser("~")
    temporary = os.path.realpath(tempfile.gettempdir())
    allowed = [os.path.realpath(place) for place in places if place]
    allowed += [os.path.join(home, cache) for cache in _CACHES] + ["/dev", "/proc"]
    busy = []

    def check(path):
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        full = os.path.realpath(os.fsdecode(path))
        if any(full == place or full.startswith(place + os.sep) for place in allowed):
            return
        # Not resolved: torch's precompiled headers lie behind a link, and all candidates share them.
        if os.path.abspath(os.fsdecode(path)).startswith(os.path.join(temporary, "torchinductor_")):
            return
        raise OutsideError(13, "a candidate may not write outside of its own directory", full)

    def watch(event, args):
        if busy:
            return
        busy.append(event)
        try:
            if event == "open":
                mode, flags = args[1], args[2]
                writes = any(mark in mode for mark in "wax+") if isinstance(mode, str) else False
                if writes or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
                    check(args[0])
            elif event in _CHANGES:
                # The directory that is changed: of a rename both ends, of a link the new name.
                for path in args[:2] if event in ("os.rename", "shutil.move") else args[:1]:
                    check(path if event not in ("os.link", "os.symlink", "shutil.copyfile") else args[1])
        finally:
            busy.pop()

    sys.addaudithook(watch)
    _wrap_torch_save(check)


def _wrap_torch_save(check):
    from .. import compat
    from . import imports

    def wrap(torch):
        writer = compat.file_writer(torch)
        if not writer:
            return
        original = getattr(writer.owner, writer.name)

        def checked(name, *args, **kwargs):
            if isinstance(name, (str, bytes)):
                check(name)
            return original(name, *args, **kwargs)

        setattr(writer.owner, writer.name, checked)

    imports.after_import({"torch": wrap})
