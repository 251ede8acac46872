"""What the fork server asks of the operating system: process trees, their memory, sub-reaping, a sudden end. Linux; elsewhere
little of it.
"""

import gc
import os
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
# At its limit it asks a candidate where its threads are (`hook.note_stacks`).
STACKS_SIGNAL = getattr(signal, "SIGRTMAX", 0)


def prctl(option, value):
    """Best effort: a sandbox may forbid it."""
    try:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
    except Exception:
        return


def leave(status):
    """End at once: no exit handlers of the parent's modules, no destructors, no waiting for threads."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
    os._exit(status)


def settle():
    """Before it is forked: nothing is left to write, and no child copies a page because its collector looks at old objects."""
    sys.stdout.flush()
    sys.stderr.flush()
    gc.collect()
    gc.freeze()


def become_subreaper():
    """Orphaned descendants become our children."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent():
    """Be killed when the server is."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def volunteer_for_oom_killer():
    """When memory runs out the kernel should take the candidate, not the server or the user's programs."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        return


def children_of(pid):
    """Pids of the children of a process."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                found += [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        return found
    return found


def private_bytes(pid):
    """Memory of a process that is not backed by files: anonymous and shared-memory pages, in bytes."""
    total = 0
    try:
        with open("/proc/%d/status" % pid) as file:
            for line in file:
                if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")):
                    total += int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        return 0
    return total


def memory_of_tree(root):
    """Sum of `private_bytes` over a process and its descendants."""
    total, waiting, seen = 0, [root], set()
    while waiting and len(seen) < 2000:
        pid = waiting.pop()
        if pid not in seen:
            seen.add(pid)
            total += private_bytes(pid)
            waiting += children_of(pid)
    return total


def end_orphans(known):
    """Kill our children that we did not start, and theirs in turn as they come to us. `known` are the pids to spare."""
    limit = time.monotonic() + 2.0
    while time.monotonic() < limit:
        orphans = [pid for pid in children_of(os.getpid()) if pid not in known]
        if not orphans:
            return
        for pid in orphans:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except OSError:
                continue
