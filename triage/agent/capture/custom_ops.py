"""What must come before a graph so that its custom operators exist again.

An operator registered from the user's Python is carried along as source (definition, kernels, fake, backward, and the
helpers they name); one that belongs to an installed library becomes an import of that library. Operators of torch itself
need nothing. An operator of which neither is found makes the graph unprintable, with the reason.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Dict, List, Optional, Tuple

from .. import compat
from . import effects
from .carry import Carrier
from .operators import is_torchs
from .registrations import Operator, registrations
from .units import Unit, unit_of, user_units

_SITE = re.compile(r"registered at (?P<file>.+?):\d+(?= ::|$)", re.M)


def preamble(targets: List[Any]) -> Tuple[List[str], List[str], List[str], List[Dict[str, str]]]:
    """(statements, reasons, setup, effects): import lines and source that register the operators among `targets`; what is
    missing; the same together with all else that the user's files do to torch, empty where they do nothing; which of these
    statements have an effect, and where they stand.
    """
    operators = _custom(targets)
    if not operators:
        return ([], [], *effects.setup([], [], set()))
    units = user_units()
    for operator in operators:
        _add_units_of(operator, units)
    statements: List[str] = []
    missing: List[str] = []
    namespaces = {operator.namespace for operator in operators}
    carrier, taken = Carrier(units, namespaces), []
    for operator in operators:
        found = [item for unit in list(units.values()) for item in registrations(unit, operator)]
        if found:
            for item in found:
                carrier.take(item)
            taken += found
            continue
        line = _library_import(operator)
        if line is not None:
            statements.append(line)
        else:
            missing.append("the registration of the custom operator %s was not found" % operator.qualified)
    if carrier.missing:
        names = ", ".join(operator.qualified for operator in operators)
        missing += ["custom operator %s: %s" % (names, reason) for reason in dict.fromkeys(carrier.missing)]
    setup, places = effects.setup(taken, statements, namespaces)
    return list(dict.fromkeys(statements + carrier.text())), missing, setup, places


def _custom(targets: List[Any]) -> List[Operator]:
    found: Dict[str, Operator] = {}
    for target in targets:
        if isinstance(target, compat.operator_types()):
            parts = str(target).split(".")
            operator = Operator(parts[0], parts[1]) if len(parts) >= 2 else None
            if operator is not None and not is_torchs(operator.qualified):
                operator.handle = compat.custom_op_definition(operator.qualified)
                found.setdefault(operator.qualified, operator)
    return list(found.values())


def _add_units_of(operator: Operator, units: Dict[str, Unit]) -> None:
    """Files that are no module: a script run by `runpy`, a cell. Known by the functions that were registered."""
    for function in _functions(operator):
        code = getattr(function, "__code__", None)
        file = getattr(code, "co_filename", None)
        if file and file not in units:
            unit = unit_of(getattr(function, "__module__", "") or "", function.__globals__, file)
            if unit is not None:
                units[file] = unit


def _functions(operator: Operator) -> List[Any]:
    parts = vars(operator.handle) if operator.handle is not None else {}
    return [value for value in parts.values() if callable(value) and hasattr(value, "__code__")]


def _library_import(operator: Operator) -> Optional[str]:
    """`import package.module` of the installed module that registers the operator."""
    files = [getattr(getattr(function, "__code__", None), "co_filename", "") for function in _functions(operator)]
    files += _SITE.findall(compat.dispatcher_text(operator.qualified))
    for file in files:
        name = _module_of(file)
        if name is not None:
            return "import %s" % name
    if operator.namespace in sys.modules:
        return "import %s" % operator.namespace
    for path in compat.loaded_libraries():
        name = _package_of(path)
        if name is not None and _says(name, operator.namespace):
            return "import %s" % name
    return None


def _module_of(file: str) -> Optional[str]:
    """The installed module with this source file; None for torch's own."""
    if not file.endswith(".py"):
        return None
    path = os.path.realpath(file)
    for name, module in list(sys.modules.items()):
        other = getattr(module, "__file__", None)
        if (
            isinstance(other, str)
            and os.path.realpath(other) == path
            and name.split(".")[0] not in ("torch", "__main__")
        ):
            return name
    return None


def _package_of(path: str) -> Optional[str]:
    """The imported package in whose directory a shared library lies."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." in name or name == "torch" or not isinstance(file, str) or os.path.basename(file) != "__init__.py":
            continue
        if os.path.realpath(path).startswith(os.path.realpath(os.path.dirname(file)) + os.sep):
            return name
    return None


def _says(package: str, namespace: str) -> bool:
    """Whether a package's name and an operator namespace belong together; else one shared library is as good as another."""
    plain = package.lower().replace("_", "")
    return plain in namespace.lower().replace("_", "") or namespace.lower().replace("_", "") in plain
