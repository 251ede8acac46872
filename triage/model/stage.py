"""The parts of the stack that can be to blame, and how a failure shows."""

from __future__ import annotations

from enum import Enum


class Stage(str, Enum):
    """The part of the stack that is to blame: the first one whose rung fails while the rung below it passes."""

    SCRIPT = "script"
    DYNAMO = "dynamo"
    AOT_AUTOGRAD = "aot_autograd"
    DECOMP_PARTITION = "decomp_partition"
    INDUCTOR = "inductor"
    BACKEND = "backend"
    NONE = "none"

    @property
    def needs_compiling(self) -> bool:
        """Whether something is to blame that the program meets only where it is compiled."""
        return self not in (Stage.NONE, Stage.SCRIPT)


COMPILER_STAGES = (Stage.DYNAMO, Stage.AOT_AUTOGRAD, Stage.DECOMP_PARTITION, Stage.INDUCTOR)


class OwnFault(str, Enum):
    """Of stage `script`: what was shown, so that the program itself is to blame."""

    UNCOMPILED = "uncompiled"  # it fails without torch.compile too
    WRAPPED = "wrapped"  # it fails where nothing is compiled; a module was wrapped by torch.compile all the same
    WRAPPER = "wrapper"  # so it does, and passes once torch.compile gives the module back as it is
    BY_CHANCE = "by_chance"  # where nothing is compiled it fails in one run, and passes in another that is the same
    UNWRITTEN = "unwritten"  # it fails uncompiled where memory that it never wrote holds other values
    OWN_BRANCH = "own_branch"  # it fails uncompiled in the code that it has for compiled runs
    BEFORE_COMPILING = "before_compiling"  # it fails at times, and never after anything was compiled


class Symptom(str, Enum):
    """How the failure shows to the person who runs the script."""

    EXCEPTION = "exception"
    CRASH = "crash"
    HANG = "hang"
    WRONG_RESULT = "wrong_result"
    ROUNDING = "rounding"  # the results differ, and no more than eager's own rounding explains
    NONDETERMINISTIC = "nondeterministic"
    NONE = "none"


class OutcomeKind(str, Enum):
    """What one probe ended in. `INVALID` means that it says nothing about the failure (the target could not start)."""

    OK = "ok"
    EXCEPTION = "exception"
    WRONG_RESULT = "wrong_result"
    CRASH = "crash"
    HANG = "hang"
    OOM = "oom"
    INVALID = "invalid"


class Verdict(str, Enum):
    """What an oracle makes of an outcome."""

    SAME_FAILURE = "same_failure"
    NO_FAILURE = "no_failure"
    UNRESOLVED = "unresolved"


class Direction(str, Enum):
    FORWARD = "forward"
    BACKWARD = "backward"
