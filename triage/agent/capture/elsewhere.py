"""The part of a traceback that lies in another process: only its text comes back to the one that asked.

`concurrent.futures` and `multiprocessing.pool` raise the worker's exception from one that holds the text; a DataLoader and
`torch.multiprocessing.spawn` write it into the message (torch/_utils.py, torch/multiprocessing/spawn.py).
"""

import re

_TOLD_BY = ("concurrent.futures.process._RemoteTraceback", "multiprocessing.pool.RemoteTraceback")
_IN_A_MESSAGE = re.compile(r"\nOriginal Traceback \(most recent call last\):\n|terminated with the following error:\n")
_START = "Traceback (most recent call last):\n"
_FRAME = re.compile(r'^ +File "([^"\n]+)", line (\d+), in (.+)$', re.MULTILINE)


def lines_of(error):
    """File, line and function of each frame in the process that raised `error`, outermost first; none where it was this one."""
    cause = error.__cause__
    text = ""
    if "%s.%s" % (type(cause).__module__, type(cause).__qualname__) in _TOLD_BY:
        text = str(cause)
    else:
        told = str(error)
        found = _IN_A_MESSAGE.search(told)
        text = told[found.start() :] if found is not None else ""
    last = text.rpartition(_START)[2]  # of a chain, the one that ended it
    return [(file, int(line), function) for file, line, function in _FRAME.findall(last)]
