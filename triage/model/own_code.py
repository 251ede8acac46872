"""Code that the program itself gave to the compiler, and what is wrong with it.

A lowering, a graph pass, a decomposition, a backend, the kernels of a custom operator: the compiler calls them, and what they
raise looks like a failure of the compiler's.
"""

from __future__ import annotations

from dataclasses import dataclass

# What each role is called. `{whose}` is "your", or the name of the library that gave the code.
_PHRASES = {
    "backend": "{whose} backend",
    "kernel": "the kernel of {whose} custom operator",
    "fake kernel": "the fake kernel of {whose} custom operator",
    "backward": "the backward of {whose} custom operator",
    "setup_context": "the setup_context of {whose} custom operator",
    "autograd.Function": "{whose} autograd.Function",
    "tensor subclass": "{whose} tensor subclass",
    "graph function": "{whose} function that stands in the graph",
}
SIGNAL_HANDLER = "signal handler"  # called by no part of the compiler: it only came to run there
OF_OPERATORS = ("lowering", "decomposition", "kernel", "fake kernel", "backward", "setup_context")
# Called while a graph is compiled, with what the compiler knows of it; the others run on what compiled code gives them.
PASSES = ("pre-grad pass", "joint-graph pass", "post-grad pass", "graph pass")  # over the whole of a graph
WHILE_COMPILING = ("lowering", "decomposition", "backend", "fake kernel", *PASSES)


@dataclass(frozen=True)
class OwnCode:
    """A line that is not torch's, under the compiler. `place` is `nms.py:9`, `line` the same with function and code.

    `raised` says that the exception is the line's own; else it came from torch, through this line. `needed` says that no line
    was seen in a traceback: the failure goes away without this code, and no more is known.
    """

    role: str
    place: str
    line: str
    raised: bool
    error: str = ""  # the exception as it was raised there: "ValueError: 7x7 is no multiple of 2"
    operator: str | None = None
    library: str | None = None  # the installed package it belongs to; null for the program's own
    call_site: str | None = None  # where compiled code was called
    needed: bool = False
    died: bool = False  # a signal ended the process in that line; `error` is its name
    hung: bool = False  # the process was in that line when its time was up

    @property
    def name(self) -> str:
        """`your lowering of detect::keep`, `the kernel of your custom operator img::hwc`."""
        whose = f"{self.library}'s" if self.library else "your"
        named = _PHRASES.get(self.role, "{whose} " + self.role).format(whose=whose)
        if self.operator is None or self.role not in OF_OPERATORS:
            return named
        of = "" if "operator" in named else "of "
        return f"{named} {of}`{self.operator}`"

    @property
    def headline(self) -> str:
        """`Raised in your lowering of detect::keep, nms.py:9: ValueError: ...`."""
        told = f": {self.error}" if self.error else ""
        if self.needed:
            return f"Fails because of {self.name}, {self.place}"
        ended = "Crashes" if self.died else "Hangs" if self.hung else "Raised"
        return f"{ended} {'in' if self.raised else 'through'} {self.name}, {self.place}{told}"


@dataclass(frozen=True)
class OperatorFailure:
    """A test of `torch.library.opcheck` that failed, with the first line of its message."""

    test: str
    message: str


@dataclass(frozen=True)
class OperatorCheck:
    """What `torch.library.opcheck` found of one custom operator, given what the program gives it.

    `kernel_gives` and `fake_gives` tell the results of both where they differ: `float32[4, 5], strides (5, 1)`.
    """

    operator: str
    where: str | None = None  # file:line of its registration
    inputs: str = ""
    passed: tuple[str, ...] = ()
    failures: tuple[OperatorFailure, ...] = ()
    kernel_gives: str | None = None
    fake_gives: str | None = None
    note: str | None = None  # why it could not be checked

    @property
    def by_message(self) -> dict[str, tuple[str, ...]]:
        """The tests that failed, by what they say: a test that runs the fake kernel says what another that does says."""
        found: dict[str, tuple[str, ...]] = {}
        for failure in self.failures:
            found[failure.message] = (*found.get(failure.message, ()), failure.test)
        return found


NO_FAKE_KERNEL = "has no fake kernel"  # the end of the title of a finding that stands for the known cause of that name


@dataclass(frozen=True)
class Finding:
    """Something that the program can mend. `explains` says that it is why the program fails: no bug of PyTorch."""

    title: str
    because: str
    cure: str
    place: str | None = None
    explains: bool = True

    @property
    def lacks_fake_kernel(self) -> bool:
        """Whether it says what the known cause `no_fake_kernel` would say, with the operator and its line."""
        return self.explains and self.title.endswith(NO_FAKE_KERNEL)

    @property
    def headline(self) -> str:
        """The title, with what it means for a report."""
        return f"Not a bug of PyTorch: {self.title[:1].lower()}{self.title[1:]}" if self.explains else self.title
