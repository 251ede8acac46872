"""Each C++ extension of the program (`torch.utils.cpp_extension.load_inline`) is built once in a run of triage.

A candidate has a private place for them, as for its caches: it may not write into the person's, and where it is ended while
it builds there, the lock that it leaves would be waited for by others. So it gets a copy of what another process of the run
built of the same files by the same commands. The script itself builds where it always does, and what lies there is kept.
"""

import functools
import hashlib
import os
import re
import tempfile

from .. import compat
from .built_kernels import copy_whole

_SOURCE = re.compile(r"^build \S+: \w*compile (.+)$", re.MULTILINE)
_LIBRARY = re.compile(r"^build (\S+): link ", re.MULTILINE)


def patches(directory, private=None):
    """What to run after which import, so that extensions are looked for and kept in this directory, which must exist.

    What was found is put below `private`, or the directory of temporary files: they go with this process.
    """
    return {"torch.utils.cpp_extension": lambda module: share(module, directory, private)}


def share(module, directory, private=None):
    """Have this process look there first, where its torch has ninja run by a function that can be wrapped."""
    name = compat.extension_builder(module)
    if name:
        setattr(module, name, _found_or_built(getattr(module, name), directory, private))


def _found_or_built(original, directory, private=None):
    @functools.wraps(original)
    def build(build_directory, *args, **kwargs):
        library, digest = _asked_for(build_directory)
        known = library and os.path.join(directory, "extension-%s.so" % digest)
        if (
            library
            and _is_below(build_directory, private or tempfile.gettempdir())
            and os.path.exists(known)
            and copy_whole(known, library)
        ):
            return None
        result = original(build_directory, *args, **kwargs)
        if library and os.path.exists(library) and not os.path.exists(known):
            copy_whole(library, known)
        return result

    return build


def _asked_for(build_directory):
    """(the library that ninja is to make, a hash of its sources and commands); (None, None) where one cannot tell."""
    try:
        with open(os.path.join(build_directory, "build.ninja"), encoding="utf-8") as file:
            text = file.read()
        library = _LIBRARY.search(text)
        digest = hashlib.sha256(
            text.replace(os.path.realpath(build_directory), "").replace(build_directory, "").encode()
        )
        for source in _SOURCE.findall(text):
            with open(source.replace("$ ", " ").replace("$:", ":"), "rb") as file:
                digest.update(file.read())
    except (OSError, UnicodeDecodeError):
        return None, None
    return (os.path.join(build_directory, library.group(1)), digest.hexdigest()) if library else (None, None)


def _is_below(path, place):
    return os.path.realpath(path).startswith(os.path.realpath(place) + os.sep)
