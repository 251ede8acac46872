"""Graph breaks: where Dynamo ends a graph and goes on behind it, or gives a whole frame up.

`OutputGraph.compile_subgraph(reason=GraphCompileReason)` is where a graph is ended, on every release since 2.1; that it was
a break, and not the end of the function, stands in the reason. A frame that is given up leaves by an exception that
`ConvertFrame` swallows. `log_graph_break` (newer releases) has the exception behind reasons that say little, such as
`generic_jump TensorVariable()`.
"""

import functools
import sys
import threading

from .. import compat
from . import places

TEXT_LIMIT = 8000
TOLD_LIMIT = 2000
_SOFT = ("Unsupported", "UserError")
_LIMIT = ("recompile limit", "cache_size_limit", "cache size limit")  # told as a recompilation


class Breaks(object):
    """Tells every break once. Exceptions of ours never reach the program."""

    def __init__(self, channel):
        self.channel = channel
        self.told = 0
        self._local = threading.local()

    def watch_log(self, module):
        """Remember the exception that a break is logged with."""
        owner = getattr(module, "InstructionTranslatorBase", None)
        original = getattr(owner, "log_graph_break", None)
        if original is None:
            return

        @functools.wraps(original)
        def log_graph_break(translator, *args, **kwargs):
            try:
                error = next((each for each in (*args, *kwargs.values()) if isinstance(each, BaseException)), None)
                stack = getattr(error, "real_stack", None)
                if stack:
                    self._reasons()[(stack[-1].filename, stack[-1].lineno)] = error
                    self._local.logged = error
            except Exception:
                pass
            return original(translator, *args, **kwargs)

        owner.log_graph_break = log_graph_break

    def watch_subgraphs(self, module):
        """See where a graph ends, and why."""
        original = module.OutputGraph.compile_subgraph

        @functools.wraps(original)
        def compile_subgraph(graph, *args, **kwargs):
            result = original(graph, *args, **kwargs)
            try:
                reason = kwargs.get("reason") or next((each for each in args if hasattr(each, "user_stack")), None)
                if reason is not None and getattr(reason, "graph_break", True):
                    self._ended(reason)
            except Exception:
                pass
            return result

        module.OutputGraph.compile_subgraph = compile_subgraph

    def watch_frames(self, module):
        """See which frames are given up."""
        compat.watch_frames(module, self._inner, self._outer)

    def watch_exceptions(self, module):
        """See what is given up for a break in a loop, before 2.9: `raise SkipFrame(...) from error`, which never gets far."""
        original = getattr(module, "SkipFrame", None)
        if original is None:
            return
        made = original.__init__

        def remember(skip, *args, **kwargs):
            made(skip, *args, **kwargs)
            try:
                error = sys.exc_info()[1]
                if error is not None:
                    self._given_up(error)
            except Exception:
                pass

        original.__init__ = remember

    def _inner(self, call):
        @functools.wraps(call)
        def inner(*args, **kwargs):
            try:
                return call(*args, **kwargs)
            except Exception as error:
                self._local.left = error
                raise

        return inner

    def _outer(self, call):
        @functools.wraps(call)
        def outer(*args, **kwargs):
            self._local.left = None
            result = call(*args, **kwargs)
            error, self._local.left = getattr(self._local, "left", None), None
            if error is not None:  # it was swallowed
                try:
                    self._given_up(error)
                except Exception:
                    pass
            return result

        return outer

    def _reasons(self):
        found = self._local.__dict__.setdefault("reasons", {})
        if len(found) > TOLD_LIMIT:
            found.clear()
        return found

    def _ended(self, reason):
        stack = list(reason.user_stack)
        text = str(reason.reason)
        error = self._reasons().get((stack[-1].filename, stack[-1].lineno)) if stack else None
        logged, self._local.logged = getattr(self._local, "logged", None), None
        # It cannot go on behind the line: the graph ends before, the rest is given up.
        beyond = text == "step_unsupported"
        if beyond and error is None and logged is not None:
            error, stack = logged, list(logged.real_stack)
        if error is not None and "Explanation:" not in text:
            text = _words(error)
        self._tell(text, stack, error, beyond)

    def _given_up(self, error):
        if not any(kind.__name__ in _SOFT for kind in type(error).__mro__):
            return  # an error, which is recorded as one
        if getattr(error, "_triage_told", False):
            return
        error._triage_told = True
        if any(words in str(error)[:400] for words in _LIMIT):
            return
        self._tell(_words(error), list(getattr(error, "real_stack", None) or ()), error, True)

    def _tell(self, text, stack, error, skipped):
        self.told += 1
        if self.told > TOLD_LIMIT:
            return
        # A break while another one was handled comes second in its text: the first line is the reason.
        first = text.split("\n", 1)[0].strip()
        self.channel.say(
            "break",
            text=text[:TEXT_LIMIT],
            id=compat.graph_break_id(first) or compat.graph_break_id(getattr(error, "gb_type", None) or ""),
            stack=places.frames_of(stack),
            skipped=skipped,
            graph=compat.compile_id(),
        )


def _words(error):
    """What Dynamo said, without the user code that it appends to the exception."""
    return str(getattr(error, "msg", None) or error)
