"""Counts how often each part of the compiler is applied in this process, and stops one part after so many times.

What is applied is written to a file, a line of JSON each: the part, the number of the application, and what it is. Number 0
says that this torch lets the part be counted: one that has no other line is not applied. The parts are those of PyTorch's own
bisector, and four that it does not have: fusion, vectorisation, the matches of patterns, and the decompositions by which the
Python dispatcher stands in for an operator's own kernel on every backend from `aot_eager` on.
"""

import functools
import json

from .. import compat

FILE = "parts.jsonl"
BEFORE, AFTER = "before.txt", "after.txt"
BY_DISPATCHER, FUSION, VECTORISATION, MATCHES = "py_impl decomposition", "fusion", "vectorisation", "pattern matcher"
PASSES = ("pre_grad_passes", "joint_graph_passes", "post_grad_passes")


class _Counting(object):
    """Of `part` no more than `most` applications happen, of the parts in `off` none. The graph is written around `shown`."""

    def __init__(self, off, part, most, shown):
        self.off, self.part, self.most, self.shown = off, part, most, shown
        self.counts = {}
        self.meets = False  # whether the application to be shown has just begun

    def can_count(self, *parts):
        """Tell that applications of these parts are seen."""
        for part in parts:
            self._count(part, 0, "")

    def stops(self, part, what):
        """One more application of this part: whether it must not happen."""
        number = self.counts[part] = self.counts.get(part, 0) + 1
        self._count(part, number, _told(what))
        self.meets = self.meets or (part == self.part and number == self.shown)
        return part in self.off or (part == self.part and self.most is not None and number > self.most)

    def _count(self, *line):
        with open(FILE, "a") as file:
            file.write(json.dumps(line) + "\n")

    def around(self, graph, apply):
        """Apply something to a graph, which is written before and after where this is the application to be shown."""
        before = str(graph) if self.shown else ""
        try:
            return apply()
        finally:
            if self.meets:
                self.meets = False
                _write(BEFORE, before)
                _write(AFTER, str(graph))


def install(off=(), part=None, most=None, shown=None):
    """For the rest of this process. Parts that this torch cannot count are left alone."""
    counting = _Counting(off, part, most, shown)
    found = compat.compiler_parts()
    compat.without_graph_caches()
    for feature, hook, parts in (
        (found.bisector, _bisector, found.subsystems),
        (found.observer, _observer, ()),
        (found.scheduler, _scheduler, (FUSION,)),
        (found.tiling, functools.partial(_tiling, kernels=found.kernels), (VECTORISATION,)),
        (found.operators, functools.partial(_operators, decomposed=found.decomposed), (BY_DISPATCHER,)),
        *((entry, _pattern, (MATCHES,)) for entry in found.patterns),
    ):
        if feature:
            hook(feature, counting)
            counting.can_count(*parts)


def _bisector(bisector, counting):
    def disable_subsystem(cls, backend, subsystem, debug_info=None):
        return counting.stops(subsystem, debug_info)

    bisector.disable_subsystem = classmethod(disable_subsystem)


def _observer(observer, counting):
    for name in ("apply_graph_pass", "apply_gm_pass"):
        original = getattr(observer, name, None)
        if original is not None:
            setattr(observer, name, _shown(original, counting))


def _shown(original, counting):
    @functools.wraps(original)
    def apply(self, pass_fn):
        if counting.part not in PASSES:
            return original(self, pass_fn)
        return counting.around(self.gm.graph, lambda: original(self, pass_fn))

    return apply


def _pattern(entry, counting):
    original = entry.apply

    @functools.wraps(original)
    def apply(self, match, graph, node):
        if counting.stops(MATCHES, lambda: _match(self, match)):
            return None
        if counting.part != MATCHES:
            return original(self, match, graph, node)
        return counting.around(graph, lambda: original(self, match, graph, node))

    entry.apply = apply


def _match(entry, match):
    handler = getattr(entry, "pattern_name", None) or getattr(getattr(entry, "handler", None), "__name__", "")
    nodes = ", ".join(str(node) for node in match.nodes)
    return "%s on %s" % (handler, nodes) if handler else nodes


def _scheduler(scheduler, counting):
    original = scheduler.can_fuse
    known = {}  # a pair is asked for more than once

    @functools.wraps(original)
    def can_fuse(self, node1, node2, *args, **kwargs):
        if not original(self, node1, node2, *args, **kwargs):
            return False
        pair = (id(self), node1.get_name(), node2.get_name())
        if pair not in known:
            known[pair] = not counting.stops(FUSION, lambda: "%s with %s" % (_buffer(node1), _buffer(node2)))
        return known[pair]

    scheduler.can_fuse = can_fuse


def _buffer(node):
    """`op0 (relu, add)`: the name of a node of the scheduler, and of the operations that it computes."""
    origins = [origin.name for each in node.get_nodes() for origin in (each.node.origins if each.node else ())]
    return "%s (%s)" % (node.get_name(), ", ".join(sorted(set(origins)))) if origins else node.get_name()


def _tiling(tiling, counting, kernels):
    original = tiling.select_tiling
    last = []

    if kernels and hasattr(kernels, "codegen_nodes"):
        codegen_nodes = kernels.codegen_nodes

        @functools.wraps(codegen_nodes)
        def remembering(self, nodes):
            last[:] = nodes
            return codegen_nodes(self, nodes)

        kernels.codegen_nodes = remembering

    @functools.wraps(original)
    def select_tiling(self, *args, **kwargs):
        found = original(self, *args, **kwargs)
        if not found[0] or not counting.stops(VECTORISATION, lambda: ", ".join(_buffer(node) for node in last)):
            return found
        return ([], [], *found[2:])

    tiling.select_tiling = select_tiling


def _operators(operators, counting, decomposed):
    """An operator and dispatch key count once: the dispatcher asks once for the kernel, and keeps what it gets."""
    original = operators._get_dispatch

    @functools.wraps(original)
    def get_dispatch(self, key):
        kernel = original(self, key)
        if key.name == "Meta" or not _of_torch(kernel) or not counting.stops(BY_DISPATCHER, lambda: self):
            return kernel
        kernels = self.py_kernels
        self.py_kernels = {each: other for each, other in kernels.items() if not _of_torch(other)}
        self._dispatch_cache.pop(key, None)
        try:
            return original(self, key)
        finally:
            self.py_kernels = kernels

    operators._get_dispatch = get_dispatch
    for operator in decomposed:
        if getattr(operator, "py_kernels", None):
            operator._dispatch_cache.clear()  # what earlier calls were given


def _of_torch(kernel):
    """Whether this is a decomposition of torch's own. For meta tensors it only tells shapes."""
    return (getattr(kernel, "__module__", None) or "").startswith(("torch._decomp", "torch._refs"))


def _told(what):
    try:
        return str(what())[:300] if what is not None else ""
    except Exception:
        return ""  # a name is worth no failure


def _write(name, text):
    with open(name, "w") as file:
        file.write(text)
