"""Seeds of random numbers: what a program draws after one is the same in each run, and so is what its own check says of it.

Without the seed a check may fail in one run of three, and a candidate that was run once would count. So where the failure is
the program's own verdict on results, a text that lost its seeds is refused; at the end they go if it fails each time without.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from triage.model.syntax import called_name, last_name
from triage.reduce.text.code.edits import deletion
from triage.reduce.text.code.script import Function, Script
from triage.reduce.text.code.tidy import tidy

# Names in torch that draw, or make what draws: parameters of modules have random values.
_OF_TORCH = re.compile(
    r"(?<![a-z])rand(?!om$)|normal|uniform|bernoulli|multinomial|dropout|poisson|exponential|geometric|cauchy|rrelu|shuffle|^nn$",
    re.IGNORECASE,
)
_SEEDS_TORCH = frozenset({"manual_seed", "manual_seed_all", "seed_everything"})
_MAKES_SEEDED = {"default_rng": "numpy", "RandomState": "numpy", "Random": "random"}
_SEEDED_ALL = re.compile(r"(?:.*\.)?(?:torch|cuda|mps|xpu|random)$")  # a seed of its own is what any other object has


def unseeded(script: Script) -> Iterator[str]:
    """Random numbers of a library that nothing seeds."""
    seeds = {_seeded_by(call) for call in script.calls if _is_reached(script, call)}
    if _draws_of_torch(script) and "torch" not in seeds and not ("generator" in seeds and _all_given(script)):
        yield "nothing seeds the random numbers of torch"
    for library in ("numpy", "random"):
        if library not in seeds and any(_draws_of(library, node) for node in script.nodes):
            yield f"nothing seeds the random numbers of {library}"


def without_seeds(script: Script) -> Script | None:
    """The script less the statements that only seed, and the functions that did nothing else. None where there are none."""
    gone = {
        node
        for node in script.nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _only_seeds(node.value)
    }
    if not gone:
        return None
    emptied = [node for node in script.nodes if isinstance(node, Function) and gone.issuperset(node.body)]
    names = {function.name for function in emptied}
    gone -= {statement for function in emptied for statement in function.body}
    gone |= {node for node in script.nodes if isinstance(node, ast.Expr) and called_name(node.value) in names}
    return Script(tidy(script.replaced(deletion(script, statement) for statement in (*gone, *emptied))))


def _only_seeds(call: ast.Call) -> bool:
    return called_name(call) not in _MAKES_SEEDED and _seeded_by(call) not in ("", "generator")


def _seeded_by(call: ast.Call) -> str:
    """The library whose random numbers a call seeds; `generator` where it is one object's alone; empty for any other call."""
    name, owner = called_name(call), ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if not call.args and not call.keywords:
        return ""
    if name in _SEEDS_TORCH:
        return "torch" if not owner or _SEEDED_ALL.match(owner) or name == "seed_everything" else "generator"
    if name == "seed" and _SEEDED_ALL.match(owner):
        return "random" if owner == "random" else "numpy"
    return _MAKES_SEEDED.get(name, "")


def _draws_of_torch(script: Script) -> bool:
    for node in script.nodes:
        names = [last_name(node)]
        if isinstance(node, ast.ImportFrom):
            names = ["nn"] if (node.module or "").startswith("torch.nn") else [alias.name for alias in node.names]
        if any(map(_OF_TORCH.search, names)):
            return True
    return False


def _all_given(script: Script) -> bool:
    """Whether whatever is drawn with torch is drawn with a generator that is named. No module draws its parameters so."""
    drawn = [call for call in script.calls if _OF_TORCH.search(called_name(call))]
    return all(any(item.arg == "generator" for item in call.keywords) for call in drawn) and not _makes_modules(script)


def _makes_modules(script: Script) -> bool:
    """Whether one of torch's own is made (`nn.Linear(1, 2)`), but for a parameter, which is given its values."""
    imports = [node for node in script.nodes if isinstance(node, ast.ImportFrom) and node.module == "torch.nn"]
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    for call in script.calls:
        name = called_name(call)
        of_nn = isinstance(call.func, ast.Attribute) and last_name(call.func.value) == "nn"
        if name[:1].isupper() and name != "Parameter" and (of_nn or name in names):
            return True
    return False


def _draws_of(library: str, node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == ("numpy.random" if library == "numpy" else library)
    if not isinstance(node, ast.Attribute) or node.attr == "seed":
        return False
    owner = node.value
    if library == "numpy":
        return isinstance(owner, ast.Attribute) and owner.attr == "random" and last_name(owner.value) in ("np", "numpy")
    return isinstance(owner, ast.Name) and owner.id == library


def _is_reached(script: Script, node: ast.AST) -> bool:
    """Whether the functions around it are named elsewhere: a seed in one that nobody calls seeds nothing."""
    for around in script.above(node):
        if isinstance(around, Function) and not around.name.startswith("__") and around.name != "forward":
            own = set(ast.walk(around))
            if not any(last_name(other) == around.name for other in script.nodes if other not in own):
                return False
    return True
