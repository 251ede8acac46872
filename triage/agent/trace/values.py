"""Values of a running program as expressions that make alike ones.

Tensors by shape and dtype (few elements as they are), numbers and strings as they are, objects of the user's classes by how
they were constructed. A class or function of the user's is written `<<module:name>>`, which the reducer resolves, a class of
somebody else's `<<module::name>>`: that is imported.
"""

import collections
import enum
import math
import sys
import types

from . import devices, fields, functions, tensors
from .unspoken import UnspokenError

NESTED = 0x10  # of a code: it is that of a function within another
ITEMS = 64
DEPTH = 6
OBJECTS = 2000
MAIN = "__main__"
CHILDS_MAIN = "__mp_main__"  # what a process that multiprocessing started calls the program's main module


def home(module):
    """A module's name, the same in every process of the program."""
    return MAIN if module == CHILDS_MAIN else module


class Speller(object):
    """Writes values. `is_local(module name)` says whose classes are the user's; `ranges`: whole numbers are made by their range.

    Else they are noughts, which are an index into anything; but of noughts most of what is wrong with a value is not seen.
    """

    def __init__(self, is_local, ranges=False):
        self.is_local = is_local
        self.ranges = ranges
        self.made = {}  # id -> (object, expression or None, the same with objects by their attributes)
        self.flat = False
        self.before = None  # statements that a call needs: functions that others define, with what these read of them

    def constructed(self, frame):
        """An `__init__` begins: remember what it was given. The outermost one of an object is the one that was called."""
        code = frame.f_code
        if not code.co_argcount or len(self.made) > OBJECTS:
            return
        value = frame.f_locals.get(code.co_varnames[0])
        if id(value) in self.made and self.made[id(value)][0] is value:
            return
        self.made[id(value)] = (value, self._made(frame, value), None)  # before its own attributes are looked at
        self.made[id(value)] = (*self.made[id(value)][:2], self._flatly(self._made, frame, value))

    def _made(self, frame, value):
        try:
            return "%s(%s)" % (self._named(type(value)), self._given(frame, skip=1))
        except Exception:
            return None

    def _flatly(self, spell, *given):
        """What `spell` gives with objects by the attributes they have now; modules are made as they were."""
        self.flat = True
        try:
            return spell(*given)
        finally:
            self.flat = False

    def calls(self, frame, entered=None):
        """A function as it is called, in one or two ways: objects as they were made, or by what they have become.

        `entered` is the compiled call that it begins: (function, args, kwargs).
        """
        failure = None
        told = []
        for spell in (self.call, lambda *given: dict(self._flatly(self.call, *given), flat=True)):
            self.before = []
            try:
                told.append(spell(frame, entered))
            except Exception as error:
                failure = error
        self.before = None
        if not told:
            raise failure
        same = len(told) == 2 and all(told[0][key] == told[1][key] for key in ("self", "args", "before"))
        return told[:1] if same else told

    def call(self, frame, entered=None):
        """A function as it is called: `function` (an expression), `args` (expressions by position or `name=`), and how."""
        code, values = frame.f_code, frame.f_locals
        made = functions.original(entered[0]) if entered is not None else None
        first = values.get(code.co_varnames[0]) if code.co_argcount else None
        told = {
            "function": code.co_name,
            "module": home(frame.f_globals.get("__name__")),
            "self": None,
            "before": self.before,
        }
        told["grad"] = bool(sys.modules["torch"].is_grad_enabled())
        unnamed = getattr(made, "__code__", None) is code and (code.co_flags & NESTED or code.co_name == "<lambda>")
        if unnamed or functions.making(made) is not None:  # or what torch made of it: `torch.func.grad(loss)`
            return dict(told, call=self.spell(made), args=self._listed(*entered[1:]))
        owner, plain = functions.owner(type(first), code), functions.unwrapped(frame.f_globals.get(code.co_name))
        if owner is not None:
            told["self"] = self.spell(first)
            told["method"] = code.co_name
            told["module_call"] = code.co_name == "forward" and _is_module(first)
            skip = 1
        elif getattr(plain, "__code__", None) is code:
            told["call"] = "<<%s:%s>>" % (home(frame.f_globals.get("__name__")), code.co_name)
            skip = 0
        else:
            raise UnspokenError("a function within another")
        told["args"] = self._given(frame, skip)
        return told

    def moment(self, frame):
        """A running function as it is: `function`, its `module`, and `locals`, those that there is an expression for."""
        told = {}
        for name, value in list(frame.f_locals.items())[:ITEMS]:
            for spell in (self.spell, lambda value: self._flatly(self.spell, value)):
                try:
                    told[name] = spell(value)
                    break
                except Exception:
                    continue
        grad = bool(sys.modules["torch"].is_grad_enabled())
        return {
            "function": frame.f_code.co_name,
            "module": home(frame.f_globals.get("__name__")),
            "locals": told,
            "grad": grad,
        }

    def _given(self, frame, skip):
        """The arguments of a frame that has just begun, as text."""
        code, values = frame.f_code, frame.f_locals
        count = code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames[:count]
        defaults = functions.defaults(frame)
        written = []
        by_name = False
        for number, name in enumerate(names):
            if number < skip:
                continue
            value = values[name]
            if name in defaults and defaults[name] is value:
                by_name = True
                continue
            by_name = by_name or number >= code.co_argcount
            text = self.spell(value)
            written.append("%s=%s" % (name, text) if by_name else text)
        place = count
        if code.co_flags & 0x04:
            rest = [self.spell(item) for item in values[code.co_varnames[place]]]
            if rest and by_name:
                raise UnspokenError("positional arguments after those by name")
            written += rest
            place += 1
        if code.co_flags & 0x08:
            written += ["%s=%s" % (key, self.spell(item)) for key, item in values[code.co_varnames[place]].items()]
        return ", ".join(written)

    def _listed(self, args, kwargs, depth=0):
        written = [self.spell(item, depth) for item in args]
        return ", ".join(written + ["%s=%s" % (key, self.spell(item, depth)) for key, item in kwargs.items()])

    def spell(self, value, depth=0):
        """An expression for a value. Raises UnspokenError."""
        if value is None or value is Ellipsis or type(value) in (bool, int, str, bytes):
            text = repr(value)
            if len(text) > 400:
                raise UnspokenError("a long %s" % type(value).__name__)
            return text
        if type(value) is float:
            return repr(value) if math.isfinite(value) else 'float("%r")' % value
        if type(value) is complex:
            return repr(value)
        if depth > DEPTH:
            raise UnspokenError("a deep structure")
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            return self._container(value, depth + 1)
        if type(value) is collections.deque:
            return "collections.deque(%s, maxlen=%s)" % (self._container(list(value), depth + 1), value.maxlen)
        if isinstance(value, (range, slice)):
            return repr(value)
        return self._object(value, depth + 1)

    def _container(self, value, depth):
        if len(value) > ITEMS:
            raise UnspokenError("a long %s" % type(value).__name__)
        if isinstance(value, dict):
            inner = "{%s}" % ", ".join(
                "%s: %s" % (self.spell(k, depth), self.spell(v, depth)) for k, v in value.items()
            )
            return (
                inner
                if type(value) is dict or not self._local(type(value))
                else "%s(%s)" % (self._named(type(value)), inner)
            )
        items = [self.spell(item, depth) for item in value]
        if hasattr(value, "_fields") and self._local(type(value)):
            return "%s(%s)" % (self._named(type(value)), ", ".join(items))
        if isinstance(value, list):
            return "[%s]" % ", ".join(items)
        if isinstance(value, tuple):
            return "(%s%s)" % (", ".join(items), "," if len(items) == 1 else "")
        return "{%s}" % ", ".join(items) if items else "set()"

    def _object(self, value, depth):
        torch = sys.modules.get("torch")
        if torch is not None:
            if isinstance(value, torch.Tensor):
                return tensors.spelled(torch, value, self.ranges)
            if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
                return repr(value)
            if isinstance(value, torch.device):
                return "torch.device(%r)" % str(value)
            if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
                return "%s.numpy()" % tensors.spelled(torch, tensors.of_array(torch, value), self.ranges)
        if isinstance(value, enum.Enum) and self._local(type(value)):
            return "%s.%s" % (self._named(type(value)), value.name)
        if isinstance(value, types.MethodType):
            return "%s.%s" % (self.spell(value.__self__, depth), value.__name__)
        # A function that torch.compile gave has the name of the one that it was given.
        original = vars(value).get("_torchdynamo_orig_callable") if isinstance(value, types.FunctionType) else None
        if original is not None and getattr(sys.modules.get(value.__module__), value.__qualname__, None) is not value:
            return "torch.compile(%s)" % self.spell(original, depth)
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
            return self._definition(value, depth)
        kind = type(value)
        # A package's dataclass, of dozens of fields: it is made of the attributes that it has now.
        foreign = fields.is_found(kind) and not self._local(kind)
        if self.flat and not foreign and not _is_module(value) and getattr(value, "__dict__", None):
            return self._namespace(value, depth)
        if torch is not None and isinstance(value, torch.nn.Module):
            return self._module(torch, value, depth) + devices.moved(value)
        text = self._known(value)
        if text is not None:
            return text
        if kind.__module__ == "decimal":
            return '__import__("decimal").%r' % value
        if fields.is_found(kind):
            given = self._listed((), dict(fields.given(value, whole=not foreign)), depth)
            named = "<<%s::%s>>" % (kind.__module__, kind.__name__) if foreign else self._named(kind)
            return "%s(%s)" % (named, given)
        if self._local(kind) and (not getattr(value, "__dict__", None) or isinstance(value, _test_case())):
            return "<<%s:%s>>()" % (home(kind.__module__), kind.__name__)
        return self._namespace(value, depth)

    def _known(self, value):
        """How it was constructed, where that was seen."""
        known = self.made.get(id(value))
        return known[2 if self.flat else 1] if known is not None and known[0] is value else None

    def _copied(self, value):
        """A module that nothing constructed is a copy, mostly (`copy.deepcopy`): as the last one of its class was made."""
        for known in reversed(list(self.made.values())):
            text = known[2 if self.flat else 1]
            if type(known[0]) is type(value) and text is not None:
                return text + ("" if value.training else ".eval()")
        raise UnspokenError("a %s" % type(value).__qualname__)

    def _namespace(self, value, depth):
        """Any other object with attributes: one that has those that can be written."""
        attributes = getattr(value, "__dict__", None)
        if not attributes or depth > 3:
            raise UnspokenError("a %s" % type(value).__qualname__)
        written = []
        for name, item in list(attributes.items())[:200]:
            if name.isidentifier():
                try:
                    written.append("%s=%s" % (name, self.spell(item, depth)))
                except Exception:
                    continue
        return "types.SimpleNamespace(%s)" % ", ".join(written)

    def _module(self, torch, value, depth):
        """A module, on the device where it was made."""
        text = self._known(value)
        if text is not None:
            return text + ("" if value.training else ".eval()")
        try:
            return self._module_of_torch(torch, value, depth)
        except UnspokenError:
            return self._copied(value)

    def _module_of_torch(self, torch, value, depth):
        """A module of torch.nn: its text is how it is made, for most of them."""
        kind = type(value)
        children = list(value.children())
        if self._local(kind) and not children and kind.__init__.__module__.startswith("torch.nn"):
            # What `torch.nn.Linear` is given makes a class of the user's that only adds methods to it.
            text = "<<%s:%s>>%s" % (home(kind.__module__), kind.__name__, repr(value)[len(kind.__name__) :])
            compile(text.replace("<<", "").replace(">>", "").replace(":", "."), "<module>", "eval")
            return text if value.training else text + ".eval()"
        if not kind.__module__.startswith("torch.nn"):
            raise UnspokenError("a %s" % kind.__qualname__)
        if kind in (torch.nn.Sequential, torch.nn.ModuleList):
            inner = ", ".join(self._module(torch, child, depth) for child in children)
            text = "torch.nn.%s(%s)" % (kind.__name__, inner if kind is torch.nn.Sequential else "[%s]" % inner)
        elif children:
            raise UnspokenError("a %s" % kind.__qualname__)
        else:
            text = "torch.nn.%s" % repr(value).replace("non_affine", "affine")
            compile(text, "<module>", "eval")
        return text if value.training else text + ".eval()"

    def _definition(self, value, depth):
        module, name = getattr(value, "__module__", None), value.__qualname__
        found = getattr(sys.modules.get(module), name, None)
        made = functions.making(value) if found is not value else None  # what `functools.wraps` made has another's name
        if made is not None:
            return "%s(%s)" % (self._definition(made[0], depth), self._listed(*made[1:], depth))
        if name.isidentifier() and found is not None and self.is_local(module):
            return "<<%s:%s>>" % (home(module), name)
        text = functions.public_name(value)
        if text is None and self.before is not None and isinstance(value, types.FunctionType) and self.is_local(module):
            text = self._defined_before(value, depth)
        if text is None:
            raise UnspokenError("the function %s" % name)
        return text

    def _defined_before(self, function, depth):
        """The name of a function that another one defines; its text comes before, below what it reads of that one."""
        name, text = functions.written(function)
        lines = ["%s = %s\n" % (key, self.spell(value, depth)) for key, value in functions.held_by(function).items()]
        self.before += [line for line in [*lines, text] if line not in self.before]
        return name

    def _local(self, kind):
        return self.is_local(kind.__module__) and kind.__qualname__.isidentifier()

    def _named(self, kind):
        if kind.__module__.startswith("torch.nn") and not self.is_local(kind.__module__):
            return "torch.nn.%s" % kind.__name__
        if not self._local(kind):
            raise UnspokenError("a %s" % kind.__qualname__)
        return "<<%s:%s>>" % (home(kind.__module__), kind.__name__)


def _test_case():
    """The class of unittest's tests, which are made without arguments; nothing where it was never imported."""
    return getattr(sys.modules.get("unittest"), "TestCase", ())


def _is_module(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)
