"""`torch.library.opcheck` on the custom operators that a program calls, with what it calls them with.

Where the probe asks for it, calls of `torch.ops.ns.name(...)` inside compiled functions (which run uncompiled in this probe)
and backward passes are looked at first: each test of opcheck on copies of the arguments, told when it begins and when it
ends, so that one which ends the process is known. What the kernel and the fake kernel give is told where they differ.
"""

import functools
import re
import threading

from .. import compat
from ..capture.exception import rank
from ..capture.operators import is_torchs
from . import copies, randomness

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
CALLS = 3  # of one operator, given other shapes or dtypes
MESSAGE = 600

_busy = threading.local()


def install(torch, recorder):
    """Look at every call of a custom operator from Python."""
    if not recorder.config.get("opcheck"):
        return
    checker = _Checker(torch, recorder)
    for kind in compat.operator_types():
        kind.__call__ = _looked_at(kind.__call__, checker)


def _looked_at(call, checker):
    @functools.wraps(call)
    def looked_at(self, *args, **kwargs):
        if not getattr(_busy, "now", False):
            _busy.now = True
            try:
                checker.look(self, args, kwargs)
            except Exception as error:
                checker.recorder.channel.say("opcheck_note", operator=_qualified(self), reason=_told(error))
            finally:
                _busy.now = False
        return call(self, *args, **kwargs)

    return looked_at


class _Checker(object):
    def __init__(self, torch, recorder):
        self.torch, self.recorder = torch, recorder
        self.wanted = set(recorder.config["opcheck"])
        self.seen = {}

    def look(self, operator, args, kwargs):
        """Check the operator, if it is one to be checked and was not yet checked with such arguments."""
        name = _qualified(operator)
        if not self.recorder.inside() or is_torchs(name) or (name not in self.wanted and "*" not in self.wanted):
            return
        flat, put_back = compat.flattened((args, kwargs))
        inputs = ", ".join(self._spelled(item) for item in flat)
        known = self.seen.setdefault(name, set())
        if inputs in known or len(known) >= CALLS:
            return
        known.add(inputs)
        where = compat.registered_at(name)
        self.recorder.channel.say("opcheck", operator=name, where=where, inputs=inputs[:300])
        if rank() is not None:
            raise RuntimeError("it was called in a process group")
        self._check(operator, name, copies.Copier(self.torch, flat), put_back)

    def _check(self, operator, name, copier, put_back):
        check = compat.opcheck()
        if not check:
            self.recorder.channel.say("opcheck_note", operator=name, reason=check.reason)
        restore = randomness.kept(self.torch)
        try:
            for test in self._tests(put_back(copier.copies()[0])) if check else ():
                self.recorder.channel.say("opcheck_test", operator=name, test=test, outcome="began")
                args, kwargs = put_back(copier.copies()[0])
                found = check(operator, args, kwargs, test_utils=test, raise_exception=False)[test]
                message = "" if found == "SUCCESS" else _told(found)
                self.recorder.channel.say("opcheck_test", operator=name, test=test, outcome="failed" if message else "ok",
                                          message=message)  # fmt: skip
            self._compare(operator, name, copier, put_back)
        finally:
            restore()

    def _tests(self, given):
        """Those that these arguments can be put to: the check of the schema cannot read an object of the program's own class."""
        others = [item for item in compat.flattened(given)[0] if not isinstance(item, self.torch.Tensor)]
        kinds = {type(item).__module__.split(".")[0] for item in others}
        return [test for test in TESTS if test != "test_schema" or kinds <= {"builtins", "torch"}]

    def _compare(self, operator, name, copier, put_back):
        """Tell what the kernel gives, and what the fake kernel says that it does."""
        args, kwargs = put_back(copier.copies()[0])
        with self.torch.no_grad():
            real = [self._spelled(item, True) for item in compat.flattened(operator(*args, **kwargs))[0]]
        try:
            _, results = compat.fake_call(operator, *put_back(copier.copies()[0]))
            fake = [self._spelled(item, True) for item in results]
        except Exception:
            return  # opcheck has said why
        if len(real) != len(fake) or any("?" not in b and a != b for a, b in zip(real, fake)):  # noqa: B905 - Python 3.9
            self.recorder.channel.say(
                "opcheck_gives", operator=name, kernel="; ".join(real)[:300], fake="; ".join(fake)[:300]
            )

    def _spelled(self, item, strides=False):
        """`float32[4, 5]`, with its strides if they are asked for; a size that is only known at run time is a `?`."""
        if not isinstance(item, self.torch.Tensor):
            return re.sub(" at 0x[0-9a-f]+", "", repr(item))[:60]
        dtype = str(item.dtype).split(".")[-1]
        told = "%s%s" % (dtype, _numbers(item.shape, "[%s]"))
        return told + ", strides %s" % _numbers(item.stride(), "(%s)") if strides else told


def _qualified(operator):
    """`ns::name` of `torch.ops.ns.name` and of its overloads."""
    return "::".join(str(operator).split(".")[:2])


def _numbers(sizes, around):
    return around % ", ".join(str(size) if isinstance(size, int) else "?" for size in sizes)


def _told(error):
    """The first line of a message, with the type of its exception."""
    text = str(getattr(error, "reason", None) or error).strip()
    first = text.splitlines()[0] if text else ""
    return "%s: %s" % (type(error).__name__, first[:MESSAGE])
