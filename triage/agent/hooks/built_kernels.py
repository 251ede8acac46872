"""Each C++ kernel is built once in a run of triage: probes and candidates find what an earlier one built of the same text.

Inductor names a library after a hash of its source and of the compiler's command line, and builds it where no file of that name
is there (`torch._inductor.codecache.CppCodeCache`). Every process has an empty cache of its own, so that nothing hides a failure;
but where it is about to build a library that is known, it gets a copy. A build that fails leaves nothing, so it is done again.
Verification and measurements of compile times do not share: there everything is built anew.
"""

import contextlib
import functools
import os
import re
import shutil

from .. import compat

LIBRARY = re.compile(r"c[a-z2-7]{51}(?:\.main)?\.so")  # a hash in base 32, as `code_hash` makes it
MOST = 2000  # libraries of some 100 kB


def patches(directory):
    """What to run after which import, so that libraries are looked for and kept in this directory, which must exist."""
    return {"torch._inductor.cpp_builder": lambda module: share(directory)}


def share(directory):
    """Have this process look there first, where its torch builds kernels by a method that can be wrapped (2.5 and newer)."""
    builder = compat.kernel_builder()
    if builder and not hasattr(builder.build, "_triage_shared"):
        builder.build = _found_or_built(builder.build, directory)


def _found_or_built(original, directory):
    @functools.wraps(original)
    def build(self, *args, **kwargs):
        path = self.get_target_file_path()
        name = os.path.basename(path)
        if not LIBRARY.fullmatch(name):
            return original(self, *args, **kwargs)
        known = os.path.join(directory, name)
        if os.path.exists(known) and copy_whole(known, path):
            return None
        result = original(self, *args, **kwargs)
        with contextlib.suppress(OSError):  # nothing here may make a build fail
            if os.path.exists(path) and len(os.listdir(directory)) < MOST:
                copy_whole(path, known)
        return result

    build._triage_shared = True
    return build


def copy_whole(source, goal):
    """Whether it is there now, whole. Others may be doing the same."""
    part = "%s.%d.part" % (goal, os.getpid())
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(goal), exist_ok=True)
        shutil.copyfile(source, part)
        os.replace(part, goal)
        return True
    return False
