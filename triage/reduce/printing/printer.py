"""A `GraphCase` as a standalone script: what is run, judged and reported is this text, to the letter (design rule 2).

The script is shaped as the contract's `repro.py`: torch only, no path, the backend from TORCH_COMPILE_BACKEND, eager
first, then compiled; exit status 0 when the bug is absent. The same case and form always give the same text.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from triage.model import effects, trees
from triage.model.graphcase import GraphCase, GraphNode
from triage.model.syntax import parse
from triage.reduce.printing import fills, ranks
from triage.reduce.printing import higher_order as hop
from triage.reduce.printing import inputs as facts
from triage.reduce.printing.body import Body, Style, indented, is_random, live_nodes, plain_random
from triage.reduce.printing.calls import Calls, check_lines, in_modes
from triage.reduce.printing.comparison import Comparing, values_lines
from triage.reduce.printing.modes import autocast
from triage.reduce.printing.names import Names, input_name
from triage.reduce.printing.nested import Nested
from triage.reduce.printing.preamble import changes_arguments, custom_operators, of_case
from triage.reduce.printing.spelling import Expression, Unprintable

__all__ = ["Form", "Unprintable", "code_lines", "count_ops", "print_case"]


SEED = "torch.manual_seed(0)"
# Tolerances; the others are the agent's of what is smallest, and of that which is sure of its digits (`agent/compare/rule.py`).
FINE, FINEST, LEAST = 1e-9, 1e-13, 1e-34


@dataclass(frozen=True)
class Form:
    """How a case is printed; the defaults are what a person would write.

    `nice` writes `x @ y` and `F.linear`, otherwise each recorded target is called as it is; `exact` names nodes that
    keep their recorded target all the same. `check` is exception, or what must be as in eager: values, mutation (what the
    inputs hold after the call), a fact such as strides; with `reference` values are judged against double precision, with
    `close` as torch's tests do. With `squares` a backward pass starts from the sum of squares: some operations cancel the
    gradient of a sum. `zeros` takes a gradient that is None for zeros.
    `fine` is the tolerance, not 0 where values are judged too that are so small that `same` takes any two of them for equal.
    `seeded` seeds what is drawn at random, if anything is; where values are compared it is always seeded.
    `waits`: a kernel of a GPU fails, which is told of by whoever waits for it; so the script does, at the end of each run.
    `times` is how often the compiled function is called, where the failure shows as itself.
    `observe` is no check: the script runs eagerly, and writes down what it returns.
    """

    nice: bool = True
    exact: frozenset[str] = frozenset()
    check: str = "exception"
    reference: bool = True
    close: bool = False
    squares: bool = False
    fine: float = 0.0
    zeros: bool = False
    seeded: bool = True
    waits: bool = False
    times: int = 1

    @property
    def compares_values(self) -> bool:
        return self.check in ("values", "mutation")


def print_case(case: GraphCase, *, header: str = "", form: Form | None = None) -> str:
    """The script. Raises Unprintable with the reason where the case cannot be told."""
    return _Script(case, form or Form()).text(header)


def print_if_possible(case: GraphCase, *, header: str = "", form: Form | None = None) -> str | None:
    """The script; None where the case cannot be told."""
    with suppress(Unprintable):
        return print_case(case, header=header, form=form)
    return None


def count_ops(case: GraphCase, *, unused: bool = False) -> int:
    """Operations that count: not mode switches, sizes, arithmetic of sizes, or picking an element of a result.

    Nor the levels, batch dimensions and dual numbers of `torch.func`, which its transforms keep.
    Those whose results nothing uses count only where they are asked for: the printer leaves them out.
    """
    nodes = case.nodes if unused else live_nodes(case.nodes, list(case.outputs))
    bodies = [nodes, *(graph.nodes for graph in case.subgraphs)]
    return sum(_counts(node, {other.name for other in body if other.multi}) for body in bodies for node in body)


def _counts(node: GraphNode, multiple: set[str]) -> bool:
    if effects.is_context(node) or effects.is_transform(node) or (node.kind, node.target) == ("call_method", "size"):
        return False
    if node.target == "operator.getitem" or node.kind == "get_item":
        return trees.as_ref(node.args[0]) not in multiple
    return not (node.target.startswith("operator.") and node.out == [None] and effects.mutated(node) is None)


def code_lines(source: str) -> int:
    """Lines of a script that hold code: neither blank nor only a comment or docstring."""
    code: set[int] = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


class _Script:
    """Everything that is said of one case; the parts of `text` in the order they appear."""

    def __init__(self, case: GraphCase, form: Form) -> None:
        if case.unprintable:
            raise Unprintable("; ".join(case.unprintable))
        self.form = form
        custom = custom_operators([*case.nodes, *case.nested_nodes])
        pure = frozenset(target for target, name in custom.items() if not changes_arguments(case.preamble, *name))
        self.style = Style(form.nice, form.exact, pure)
        nodes, graphs = hop.pruned(case.nodes, case.subgraphs)
        nodes, outputs, bare = hop.unwrapped(nodes, list(case.outputs))
        nodes = ranks.in_default_group(nodes)
        graphs = [replace(graph, nodes=tuple(ranks.in_default_group(graph.nodes))) for graph in graphs]
        self.masks = hop.masks(
            nodes, {item.name: (item.meta.shape, item.meta.device) for item in case.inputs if item.meta}
        )
        nodes = [_without_mask(node) if node.name in self.masks else node for node in nodes]
        if form.nice:
            nodes = [
                node if node.name in form.exact else plain
                for node, plain in zip(nodes, plain_random(nodes), strict=True)
            ]
        self.live = live_nodes(nodes, outputs, pure)
        self.case = replace(case, nodes=tuple(nodes), outputs=tuple(outputs))
        opaque = next((node for node in self.live if node.opaque), None)
        if opaque is not None:
            raise Unprintable(f"{opaque.target}: {opaque.opaque}")
        self.process_group = ranks.setup(case, [*self.live, *case.nested_nodes])
        operators = custom_operators([*self.live, *case.nested_nodes]).values()
        self.preamble = of_case(case, operators)
        self.names = Names(self.preamble.names())
        self.function = "f" if "f" not in self.preamble.names() else "fn"
        inputs = facts.used_inputs(self.case, self.live)
        self.constants = [item for item in inputs if facts.is_constant(item)]
        self.arguments = [item for item in inputs if not facts.is_constant(item)]
        self.titles = {item.name: input_name(item, self.names) for item in self.arguments}
        begins = case.backward and form.check in ("values", "observe")
        self.gradients = facts.gradients(case) if begins else []
        self.titles |= {item.name: input_name(item, self.names) for item in self.gradients}
        self.arriving = facts.arriving(case, self.titles) if begins else {}
        self.metas = facts.metas(inputs, self.live)
        self.changed = facts.changed_inputs(self.case, self.live, pure)
        self.nested = Nested(graphs, self.names, self.style, bare=bare, titles=self.titles, masks=self.masks)
        self.nested.need(self.live)

    def text(self, header: str) -> str:
        config = [*self.case.context.config]
        if self.case.context.deterministic:
            config.append("torch.use_deterministic_algorithms(True)")
        config += self.process_group
        if self.form.compares_values and any(map(is_random, self.live)):
            config.append("torch._inductor.config.fallback_random = True  # the same random numbers as in eager")
        function = self._function()  # writes nested functions too
        told = _on_the_only_device([*self.nested.lines, "", "", *function, "", "", *self._main()])
        body = [*self.preamble.lines(), *told]
        parts = ["# " + line if line else "#" for line in header.splitlines()]
        parts += _imports("\n".join([*config, *body]), self.preamble.imports)
        parts += [*([""] if config else []), *config, *body]
        return _spaced(parts)

    def _function(self) -> list[str]:
        scope = {name: Expression(title) for name, title in self.titles.items()}
        lines = []
        for item in self.constants:
            assert item.meta is not None
            literal = fills.tensor_literal(item.data, item.meta)
            if sum(node.reads.count(item.name) for node in self.live) == 1 and len(literal) <= 40:
                scope[item.name] = Expression(literal)
            else:
                scope[item.name] = Expression(input_name(item, self.names))
                lines.append(f"    {scope[item.name].text} = {literal}")
        body = Body(
            self.live, list(self.case.outputs), scope, self.names,
            functions=self.nested.functions, metas=self.metas, style=self.style,
            grad_enabled=self.case.context.grad_enabled, rewrite=self.nested.rewriter,
        )  # fmt: skip
        lines += indented(body.write())
        results = [body.result(value).text for value in self.case.outputs]
        if results:
            lines.append(f"    return {', '.join(results)}")
        parameters = ", ".join(self.titles[item.name] for item in self.arguments)
        return [f"def {self.function}({parameters}):", *(lines or ["    pass"])]

    def _main(self) -> list[str]:
        calls = self._calls()
        written = [*self.arguments, *self.gradients]
        seed, made = self._seed(), facts.creations(self.case, written, self.titles, self.changed)
        masks = [f"{mask.name} = {mask.creation(self.nested.functions[mask.graph])}" for mask in self.masks.values()]
        if self.form.compares_values:
            if self.form.check == "mutation":
                calls = replace(calls, changed=frozenset(item.name for item in made))
            random = any(map(is_random, self.live))
            alone = bool(calls.changed) or random
            # In double precision other random numbers would be drawn.
            reference = self.form.reference and not self.form.close and not random
            how = Comparing(reference, self.form.close, self.form.fine, self.form.zeros)
            lines = [*masks, *values_lines(calls, made, seed=seed, how=how, alone=alone)]
        else:
            lines = check_lines(calls, self.form.check)
            making = [*seed, *(f"{item.name} = {item.text}" for item in made)]
            if calls.fresh:
                names = ", ".join(calls.parameters) + ("," if len(calls.parameters) == 1 else "")
                making = ["    " + line for line in making]
                lines = [*masks, "def inputs():", *making, f"    return {names}", "", "", *lines]
            else:
                lines = [*masks, *making, *lines]
        if not self.case.context.inference_mode:
            return lines
        # Tensors made under inference mode are inference tensors, as the script's were.
        return in_modes(["torch.inference_mode()"], lines)

    def _seed(self) -> list[str]:
        random = any(fills.is_random(item) for item in self.arguments) or any(map(is_random, self.live))
        return [SEED] if random and (self.form.seeded or self.form.compares_values) else []

    def _calls(self) -> Calls:
        outputs = facts.outputs(self.case, self.live, self.metas)
        if self.form.squares:
            outputs = tuple(replace(item, squared=True) for item in outputs)
        backward = self.case.backward and self.case.level == "dynamo"
        if backward and not any(item.differentiable for item in outputs):
            raise Unprintable("a backward pass is needed, but no output requires grad")
        return Calls(
            parameters=tuple(
                self.titles[item.name] if item.kind == "tensor" else repr(item.value) for item in self.arguments
            ),
            changed=frozenset(self.titles[name] for name in self.changed if name in self.titles),
            outputs=outputs,
            compiled=self._compile_call(),
            function=self.function,
            backward=(self.case.backward_order if backward else 0),
            modes=self._outer_modes(),
            fresh=facts.aliased(self.arguments, self.changed),
            arriving=self.arriving,
            waits=self.form.waits and self._is_on_gpu(),
            times=self.form.times,
            leaves=tuple(self.titles[item.name] for item in facts.leaves(self.case, self.arguments, self.live)),
        )

    def _is_on_gpu(self) -> bool:
        metas = [item.meta for item in self.arguments] + [meta for node in self.live for meta in node.out]
        return any(meta is not None and meta.device.startswith("cuda") for meta in metas)

    def _compile_call(self) -> str:
        context, options = self.case.context, []
        if context.dynamic is not None or self._has_symbols():
            options.append(f"dynamic={context.dynamic if context.dynamic is not None else True}")
        if context.fullgraph:
            options.append("fullgraph=True")
        if context.mode is not None:
            options.append(f'mode="{context.mode}"')
        if context.options:
            options.append(f"options={dict(sorted(context.options.items()))!r}")
        default = self.case.backend_code or f'"{self.case.backend}"'
        backend = f'backend=os.environ.get("TORCH_COMPILE_BACKEND", {default})'
        return f"torch.compile({', '.join([self.function, backend, *options])})"

    def _has_symbols(self) -> bool:
        """Also an input that is a number: were it static, the graph would hold it."""
        numbers = ("int", "float")
        return any(item.kind in numbers or (item.meta is not None and item.meta.symbols) for item in self.arguments)

    def _outer_modes(self) -> tuple[str, ...]:
        context = self.case.context
        modes = []
        if not context.grad_enabled and not context.inference_mode and self.case.level == "dynamo":
            modes.append("torch.no_grad()")
        if context.autocast and self.case.level == "dynamo":
            modes.append(autocast(context.autocast[0], context.autocast[1] if len(context.autocast) > 1 else None))
        return tuple(modes)


def _without_mask(node: GraphNode) -> GraphNode:
    """The tensors of a block mask that is made outside are no inputs of the function."""
    return replace(
        node, args=[*node.args[:4], {"tuple": [{"graph": name} for name in trees.graphs(node.args[4])]}, *node.args[5:]]
    )


_DEVICE = re.compile(r'"(?P<type>cuda|xpu):(?P<index>\d+)"')


def _on_the_only_device(lines: Sequence[str]) -> list[str]:
    """Without the number of the device where that is 0 everywhere: as a person writes it, on any machine."""
    if any(found["index"] != "0" for line in lines for found in _DEVICE.finditer(line)):
        return list(lines)
    return [_DEVICE.sub(lambda found: f'"{found["type"]}"', line) for line in lines]


_MODULE = re.compile(r"\b(torch\._(?:dynamo|inductor|functorch|higher_order_ops)\.[a-z_]+)\.")
_IMPORTS = (
    (r"\bjson\.", "import json"),
    (r"\bmath\.", "import math"),
    (r"\boperator\.", "import operator"),
    (r"\bos\.environ", "import os"),
    (r"\btorch\.", "import torch"),
    (r"\btorch\.ops\.prims\.inductor_", "import torch._inductor.inductor_prims"),
    (r"\btorch\._dynamo\.[a-z_]+\(", "import torch._dynamo"),
    (r"\bdist\.", "import torch.distributed as dist"),
    (r"\bFakeStore\(", "from torch.testing._internal.distributed.fake_pg import FakeStore"),
    (r"\bF\.\w", "import torch.nn.functional as F"),
    (r"(?<![\w.])same\(", "from torch._dynamo.utils import same"),
    (r"(?<![\w.])checkpoint\(", "from torch.utils.checkpoint import checkpoint"),
    (r"(?<![\w.])scan\(", "from torch._higher_order_ops.scan import scan"),
    (r"(?<![\w.])while_loop\(", "from torch._higher_order_ops.while_loop import while_loop"),
    (r"(?<![\w.])flex_attention\(", "from torch.nn.attention.flex_attention import flex_attention"),
    (r"(?<![\w.])create_block_mask\(", "from torch.nn.attention.flex_attention import create_block_mask"),
)


def _spaced(lines: Sequence[str]) -> str:
    """The text with two blank lines before each definition, and never more."""
    spaced: list[str] = []
    for line in lines:
        if line.startswith(("def ", "class ", "@")) and not (spaced and spaced[-1].startswith("@")):
            spaced += ["", ""]
        spaced.append(line)
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(spaced)).strip("\n") + "\n"


def _imports(body: str, carried: Sequence[str]) -> list[str]:
    found = [line for pattern, line in _IMPORTS if re.search(pattern, body)]
    found += [f"import {name}" for name in sorted(set(_MODULE.findall(body)))]
    groups: list[list[str]] = [[], []]
    for line in _merged([*found, *carried]):
        groups[line.split()[1].split(".")[0] not in sys.stdlib_module_names].append(line)
    standard, others = (sorted(group, key=lambda line: (line.startswith("from"), line)) for group in groups)
    return [*standard, *([""] if standard and others else []), *others]


def _merged(lines: Iterable[str]) -> list[str]:
    """Import lines, each module at most once: `from a import b` and `from a import c` become one."""
    names: dict[str, dict[str, None]] = {}
    for line in dict.fromkeys(lines):
        head, _, tail = line.partition(" import ") if line.startswith("from ") else (line, "", "")
        names.setdefault(head, {}).update(dict.fromkeys(tail.split(", ")) if tail else {})
    return [f"{head} import {', '.join(sorted(parts))}" if parts else head for head, parts in names.items()]
