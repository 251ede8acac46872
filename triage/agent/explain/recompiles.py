"""Recompilations: which function, which guard failed in torch's own words, with which values, and what the limit is."""

import ast
import re

from .. import compat, whose

REASONS = 3
VALUE_LIMIT = 80
TOLD_LIMIT = 1000
_SOURCE = re.compile(
    r"L\[(?:'\w+'|\"\w+\")\](?:\.\w+|\[(?:'[^']*'|\"[^\"]*\"|\d+)\])*|G\[(?:'\w+'|\"\w+\")\](?:\.\w+)*"
)
_GRAPH = re.compile(r"^\[?\d+/\d+\S*: ")
# `self.steps`, as newer releases write it.
_PLAIN = re.compile(r"^[A-Za-z_]\w*(?:\.\w+|\[(?:'[^']*'|\d+)\])* (?===|is\b|in\b)")
_SAFE = (bool, int, float, str, type(None))


class Recompiles(object):
    """Tells every recompilation."""

    def __init__(self, channel):
        self.channel = channel
        self.told = 0

    def watch(self, module):
        compat.watch_recompiles(module, self._heard)

    def _heard(self, frame, reasons, entries):
        try:
            self._tell(frame, [str(reason) for reason in reasons], entries)
        except Exception:
            pass

    def _tell(self, frame, found, entries):
        self.told += 1
        if self.told > TOLD_LIMIT:
            return
        code = frame.f_code
        self.channel.say(
            "recompile",
            function=code.co_name,
            file=code.co_filename,
            line=code.co_firstlineno,
            own=whose.is_users(code.co_filename),
            reasons=[reason[:2000] for reason in found[:REASONS]],
            values=values_in(found[0], frame) if found else {},
            entries=entries,
            limit=compat.recompile_limit(),
            graph=compat.compile_id(),
        )


def values_in(reason, frame):
    """What the sources that a reason names (`L['self'].step`) are now; nothing of the program is run to find out."""
    found = {}
    plain = _PLAIN.findall(_GRAPH.sub("", reason))
    roots = dict(frame.f_locals, L=frame.f_locals, G=frame.f_globals)
    for source in dict.fromkeys([*_SOURCE.findall(reason.split("\n")[0]), *(name.strip() for name in plain)]):
        try:
            value = _looked_up(ast.parse(source, mode="eval").body, roots)
        except Exception:
            continue
        found[source] = _told(value)
    return found


def _looked_up(node, roots):
    if isinstance(node, ast.Name):
        return roots[node.id]
    inner = _looked_up(node.value, roots)
    if isinstance(node, ast.Attribute):
        held = inner.__dict__
        for store in ("_modules", "_parameters", "_buffers"):
            if node.attr not in held and node.attr in held.get(store, ()):
                return held[store][node.attr]
        return held[node.attr]
    key = ast.literal_eval(node.slice)
    if type(inner) not in (dict, list, tuple) and not hasattr(inner, "_modules"):
        raise TypeError("its items are its own business")
    return inner[key]


def _told(value):
    if type(value) in _SAFE:
        return repr(value)[:VALUE_LIMIT]
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        return "%s%s" % (str(value.dtype).replace("torch.", ""), list(shape))
    return "a %s" % type(value).__name__
