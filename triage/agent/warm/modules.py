"""What the warm interpreter has imported and a fresh one would not have: a candidate may not live on it.

`torch._inductor.lowering` is there once something was compiled. In a fresh process, where nothing but `import torch` came
before, the same line is an AttributeError.
"""

import ast
import importlib
import sys

from .. import compat

COMPILERS = ("torch._inductor", "torch._dynamo")  # of the parts imported when named, those that every compile imports

_there = set()  # modules that `import torch` brings, or that it imports when they are named


def remember():
    """To be called when torch has been imported and nothing else has."""
    lazy = compat.imported_when_named()
    for name in COMPILERS:
        if name in lazy:
            importlib.import_module(name)
    _there.update(sys.modules)
    _there.update(lazy)


def check(tree):
    """Raises what a fresh process would raise at the first part of torch that no import of the text brings.

    A text with an import of its own that brings more than torch's is not judged: that import may bring the rest.
    """
    if not _there or any(name not in _there for name in _imported(tree)):
        return
    for node in ast.walk(tree):
        owner, _, part = _dotted(node).rpartition(".")
        whole = "%s.%s" % (owner, part)
        if owner in _there and whole in sys.modules and whole not in _there and owner.split(".")[0] == "torch":
            raise AttributeError("module %r has no attribute %r" % (owner, part))


def _imported(tree):
    """Names of torch's modules that the text imports."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""] + ["%s.%s" % (node.module, alias.name) for alias in node.names]
        for name in names:
            if name.split(".")[0] == "torch" and name in sys.modules:
                yield name


def _dotted(node):
    """`torch.a.b` of an expression that is spelled so, else nothing."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *parts[::-1]]) if isinstance(node, ast.Name) and parts else ""
