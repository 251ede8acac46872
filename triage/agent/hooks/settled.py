"""What torch defines when it is imported is never garbage, and Python looks through it for some again and again: as it
compiles, and three times as it ends, which takes a second.

So it is set aside (`gc.freeze`) as soon as it is there, and given back as the program ends; where a run is ours alone, all is set
aside then. What is set aside is freed like anything else when nobody refers to it; only of a cycle nobody notices any more that
nobody does, and every module is in one. Therefore neither is done where something is alive that would miss its `__del__`, and
files are flushed by name.
"""

import gc
import io
import weakref

_files = []  # that were open when something was set aside, or might have been: `gc` tells of them no longer
_aside = []  # not empty where something was
_measured = []  # not empty where the program's own times are


def times_count():
    """Here it matters what the search takes: the program pays for it without us."""
    _measured.append(True)


def can_be_set_aside():
    """Whether nothing that is alive would notice, and there is a search at all."""
    if _measured or not (gc.isenabled() and hasattr(gc, "freeze")):
        return False
    try:
        things = gc.get_objects()
        kinds = {type(thing) for thing in things}
        files = {kind for kind in kinds if _is_file(kind)}
        _files.extend(weakref.ref(thing) for thing in things if type(thing) in files)
        return not any(hasattr(kind, "__del__") and not _ends_anyway(kind) for kind in kinds - files)
    except Exception:  # of a class that answers in its own way
        return False


def set_aside():
    """Take all that is alive from what is searched for garbage."""
    _aside.append(True)
    gc.freeze()


def give_back():
    """What was set aside is ended as if it never had been."""
    if _aside:
        gc.unfreeze()


def flush():
    """Every file that is open, also one that was set aside."""
    for thing in [reference() for reference in _files] + gc.get_objects():
        try:
            if issubclass(type(thing), io.IOBase) and not thing.closed:
                thing.flush()
        except Exception:  # of a file of the program's own
            continue


def _is_file(kind):
    """Of those that need nothing but to be flushed: one of a compressed file has an end to be written."""
    return kind.__module__ == "_io" and issubclass(kind, io.IOBase)


def _ends_anyway(kind):
    """What such a thing gives back, a process that ends does anyway: torch's memory, a lock that the operating system holds.

    Inductor leaves one of each kernel that it built.
    """
    module = str(kind.__module__).split(".")[0]
    return module == "torch" or (module == "filelock" and kind.__name__ == "UnixFileLock")
