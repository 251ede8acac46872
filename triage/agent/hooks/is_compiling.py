"""What a program that asks whether it is compiled is told in an uncompiled run.

`if torch.compiler.is_compiling():` begins code that only a compiled run meets. A mistake in there looks like one of the
compiler, as the script passes uncompiled. So it is recorded that a program asks; in a run with `as_compiled` the answer is yes
inside of functions that would have been compiled. torch itself asks too, and is told the truth. Nothing is replaced in runs that
compile: while Dynamo traces it gives the answer itself.
"""

import functools
import os
import sys

from .. import compat

NAMES = ("is_compiling", "is_dynamo_compiling")


def patch(module, recorder):
    """Watch the questions of this module (`torch.compiler`, `torch._dynamo`) for the rest of an uncompiled run."""
    for name in NAMES:
        original = getattr(module, name, None)
        if callable(original) and not hasattr(original, "_triage_original"):
            setattr(module, name, _answering(original, recorder))


def _answering(original, recorder):
    home = compat.home_of_torch()

    @functools.wraps(original)
    def answer():
        asking = sys._getframe(1)
        if not recorder.inside() or asking.f_code.co_filename.startswith(home):
            return original()
        recorder.asked_if_compiled("%s:%d" % (os.path.basename(asking.f_code.co_filename), asking.f_lineno))
        return bool(recorder.config.get("as_compiled")) or original()

    answer._triage_original = original
    return answer
