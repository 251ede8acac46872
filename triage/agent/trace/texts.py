"""What a program executes that is the text of no module: the cells of a notebook one by one, a file that it reads and runs.

Python tells of each text that it compiles (the audit event `compile`), and a traced run sees it begin. What was executed in one
namespace, in that order, is a program of its own.
"""

import __future__

import collections

MOST = 400000  # characters of one program
NAMES, OF_ONE_NAME = 1000, 8  # texts that are kept until they begin


class Texts(object):
    """The texts executed so far, by the namespace they ran in."""

    def __init__(self):
        self._compiled = {}  # by the name it was compiled under, the newest last
        self._executed = {}  # by the namespace, which is kept: else another one could have its id
        self._looking = False

    def compiled(self, source, name):
        """A text is compiled: the arguments of the audit event, which anybody may raise."""
        if self._looking or not isinstance(source, (str, bytes)) or not isinstance(name, str) or len(source) > MOST:
            return
        if name in self._compiled or len(self._compiled) < NAMES:
            self._compiled.setdefault(name, collections.deque(maxlen=OF_ONE_NAME)).append(source)

    def begins(self, frame):
        """The code of a text begins in this frame. Not where it runs among the names of the one that has it run."""
        if frame.f_back is None or frame.f_globals is frame.f_back.f_globals:
            return
        text = self._text_of(frame.f_code)
        if text is not None:
            self._executed.setdefault(id(frame.f_globals), (frame.f_globals, []))[1].append(text)

    def _text_of(self, code):
        """Several may have one name (`<string>`): the one that gives this code, which is none of an expression."""
        self._looking = True
        inherited = code.co_flags & __future__.annotations.compiler_flag  # from the program that executes it
        try:
            for source in reversed(self._compiled.get(code.co_filename, ())):
                text = source.decode("utf-8") if isinstance(source, bytes) else source
                if compile(text, code.co_filename, "exec", inherited, True) == code:
                    return text
        except Exception:  # nothing here may end the program
            return None
        finally:
            self._looking = False
        return None

    def programs(self):
        """One text for each namespace."""
        found = ["\n".join(text.rstrip("\n") for text in texts) + "\n" for _, texts in self._executed.values()]
        return [text for text in found if len(text) <= MOST]
