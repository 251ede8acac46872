"""`print` in place of a logger, a progress bar or a file: the values are seen, and what they went through may go."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.nodes import calls
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one

_LEVELS = ("debug", "info", "warning", "error", "critical")
_VALUES_OF_BAR, _TEXTS_OF_BAR = "set_postfix", ("set_postfix_str", "set_description")
# Of these the argument that is written: `file.write(text)`, `json.dump(tree, file)`, `numpy.savetxt(path, array)`.
_WRITERS = {"write": 0, "write_text": 0, "writelines": 0, "writerow": 0, "writerows": 0, "dump": 0, "savetxt": 1}


def propose(script: Script) -> Iterator[Choice]:
    for node in script.nodes:
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            continue
        told = _told(script, call) if isinstance(call.func, ast.Attribute) else _into_file(script, call)
        if told:
            yield one(Edit(*script.span(call), f"print({told})"))


def _into_file(script: Script, call: ast.Call) -> str:
    """What `print(..., file=file)` is given."""
    if not calls(call, "print") or not any(item.arg == "file" for item in call.keywords):
        return ""
    return ", ".join(map(script.source, call.args))


def _told(script: Script, call: ast.Call) -> str:
    """What a logger is given, a value by itself, or a format and what stands in it; the values of a bar; what is written."""
    assert isinstance(call.func, ast.Attribute)
    place = _WRITERS.get(call.func.attr)
    if place is not None:
        return script.source(call.args[place]) if place < len(call.args) else ""
    if call.func.attr == _VALUES_OF_BAR:
        shown = [value for arg in call.args if isinstance(arg, ast.Dict) for value in arg.values]
        shown += [item.value for item in call.keywords if item.arg not in (None, "refresh")]
        return ", ".join(map(script.source, shown))
    if call.func.attr not in (*_LEVELS, *_TEXTS_OF_BAR) or not call.args:
        return ""
    form, *values = [script.source(arg) for arg in call.args if call.func.attr in _LEVELS or arg is call.args[0]]
    return f"{form} % ({', '.join(values)}{',' if len(values) == 1 else ''})" if values else form
