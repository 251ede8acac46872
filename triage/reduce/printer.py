"""A `GraphCase` as a standalone script: what is run, judged and reported is this text, to the letter (design rule 2).

The script is shaped as the contract's `repro.py`: torch only, no path, the backend from TORCH_COMPILE_BACKEND, eager
first, then compiled; exit status 0 when the bug is absent. The same case and form always give the same text.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass, replace

from triage.model.graphcase import GraphCase, GraphInput, GraphNode, TensorMeta
from triage.reduce import fills
from triage.reduce.printer_body import (
    Body,
    Style,
    changes_something,
    indented,
    is_random,
    live_nodes,
    node_references,
    references,
)
from triage.reduce.printer_modes import MODE_SWITCHES, SET_GRAD, autocast
from triage.reduce.printer_names import Names, input_name
from triage.reduce.printer_nested import nested, rewrite, unwrapped
from triage.reduce.printer_run import Calls, Output, exception_lines, in_modes, strides_lines
from triage.reduce.printer_values import values_lines
from triage.reduce.spelling import Expression, Unprintable

__all__ = ["Form", "Unprintable", "code_lines", "count_ops", "print_case"]


@dataclass(frozen=True)
class Form:
    """How a case is printed. Every field can be changed by itself; the defaults are what a person would write.

    `nice` writes `x @ y` and `F.linear`, otherwise each recorded target is called as it is; `exact` names nodes that
    keep their recorded target all the same. `check` is exception, values or strides; with `reference` values are judged
    against double precision.
    """

    nice: bool = True
    exact: frozenset[str] = frozenset()
    inline: bool = True
    seed: bool = True
    dynamic: bool = True
    fullgraph: bool = True
    mode: bool = True
    config: bool = True
    eager_first: bool = True
    fresh_inputs: bool | None = None  # None: where the function changes its inputs
    check: str = "exception"
    reference: bool = True


def print_case(case: GraphCase, *, header: str = "", form: Form | None = None) -> str:
    """The script. Raises Unprintable with the reason where the case cannot be told."""
    return _Script(case, form or Form()).text(header)


def count_ops(case: GraphCase) -> int:
    """Operations that count: not mode switches, sizes, arithmetic of sizes, or picking an element of a result."""
    bodies = [live_nodes(case.nodes, list(case.outputs)), *(graph.nodes for graph in case.subgraphs)]
    return sum(_counts(node) for body in bodies for node in body)


def _counts(node: GraphNode) -> bool:
    if node.target in MODE_SWITCHES or node.kind == "get_item" or (node.kind, node.target) == ("call_method", "size"):
        return False
    if node.target == "operator.getitem":
        return not (len(node.args) == 2 and isinstance(node.args[1], int) and node.out != [None]) or not node.where
    return not (node.target.startswith("operator.") and node.out == [None])


def code_lines(source: str) -> int:
    """Lines of a script that hold code: neither blank nor only a comment or docstring."""
    code: set[int] = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


class _Script:
    """Everything that is said of one case; the parts of `text` in the order they appear."""

    def __init__(self, case: GraphCase, form: Form) -> None:
        if case.unprintable:
            raise Unprintable("; ".join(case.unprintable))
        self.form = form
        self.style = Style(form.nice, form.exact, form.inline)
        nodes, outputs, bare = unwrapped(case.nodes, list(case.outputs), self.style)
        self.case = replace(case, nodes=tuple(nodes), outputs=tuple(outputs))
        self.live = live_nodes(nodes, outputs)
        opaque = next((node for node in self.live if node.opaque), None)
        if opaque is not None:
            raise Unprintable(f"{opaque.target}: {opaque.opaque}")
        self.inputs = self._used_inputs()
        self.names = Names()
        self.nested = nested(self.case, self.live, self.names, self.style, bare)
        self.titles = {item.name: input_name(item, self.names) for item in self.inputs if not _is_constant(item)}
        self.arguments = [item for item in self.inputs if not _is_constant(item)]
        self.changed = _changed_inputs(self.case, self.live)

    def text(self, header: str) -> str:
        function = [*self.nested.lines, "", "", *self._function()]
        main = self._main()
        config = [*self.case.context.config] if self.form.config else []
        if self.case.context.deterministic:
            config.append("torch.use_deterministic_algorithms(True)")
        body = "\n".join([*config, *self.case.preamble, *function, *main])
        parts = ["# " + line if line else "#" for line in header.splitlines()]
        parts += [*_imports(body), *([""] if config else []), *config]
        for block in self.case.preamble:
            parts += ["", "", block.strip("\n")]
        return re.sub(r"\n{4,}", "\n\n\n", "\n".join([*parts, *function, "", "", *main])).strip("\n") + "\n"

    def _used_inputs(self) -> list[GraphInput]:
        needed = {name for node in self.live for name in node_references(node)} | set(
            references(list(self.case.outputs))
        )
        used = [item for item in self.case.inputs if item.name in needed]
        used.sort(key=lambda item: item.role in ("parameter", "buffer"))  # f(x, w), as people write it
        for item in used:
            if item.kind == "opaque":
                raise Unprintable(f"the input {item.source or item.name}: {item.value}")
        return used

    def _function(self) -> list[str]:
        scope = {name: Expression(title) for name, title in self.titles.items()}
        constants = []
        for item in self.inputs:
            if _is_constant(item):
                assert item.meta is not None
                literal = fills.tensor_literal(item.data, item.meta)
                uses = sum(node_references(node).count(item.name) for node in self.live)
                if uses == 1 and len(literal) <= 40:
                    scope[item.name] = Expression(literal)
                else:
                    scope[item.name] = Expression(input_name(item, self.names))
                    constants.append(f"    {scope[item.name].text} = {literal}")
        body = Body(
            self.live, list(self.case.outputs), scope, self.names,
            functions=self.nested.functions, metas=_metas(self.inputs), style=self.style,
            grad_enabled=self.case.context.grad_enabled,
            rewrite=lambda node, speller: rewrite(node, speller, self.nested.classes),
        )  # fmt: skip
        lines = [*constants, *indented(body.write())]
        results = [body.result(value).text for value in self.case.outputs]
        if results:
            lines.append(f"    return {', '.join(results)}")
        return [f"def f({', '.join(self.titles.values())}):", *(lines or ["    pass"])]

    def _main(self) -> list[str]:
        calls = self._calls()
        if self.form.check == "values":
            return values_lines(calls, self._creations(), seed=self._seed(), reference=self.form.reference)
        lines = exception_lines(calls) if self.form.check == "exception" else strides_lines(calls)
        made = [*self._seed(), *(f"{name} = {text}" for name, text in self._creations())]
        # Tensors made under inference mode are inference tensors: they must be, where the script's were.
        outer, inner = (calls.modes, ()) if "torch.inference_mode()" in calls.modes else ((), calls.modes)
        del inner
        if calls.fresh:
            titles = ", ".join(self.titles[item.name] for item in self.arguments)
            block = ["def inputs():", *("    " + line for line in made)]
            return [*block, f"    return {titles}{',' if len(self.arguments) == 1 else ''}", "", "", *lines]
        if outer:
            return in_modes(outer, [*made, *(line.removeprefix("    ") for line in lines[1:])])
        return [*made, *lines]

    def _seed(self) -> list[str]:
        random = any(fills.is_random(item) for item in self.arguments) or any(map(is_random, self.live))
        return ["torch.manual_seed(0)"] if random and self.form.seed else []

    def _creations(self) -> list[tuple[str, str]]:
        """(name, expression) of each tensor argument; numbers are written into the call."""
        made: list[tuple[str, str]] = []
        known = {item.name: item for item in self.inputs}
        for item in self.arguments:
            if item.kind == "tensor":
                try:
                    made.append((self.titles[item.name], self._creation(item, known)))
                except fills.NoFillError as error:
                    raise Unprintable(str(error)) from None
        return made

    def _creation(self, item: GraphInput, known: dict[str, GraphInput]) -> str:
        base = known.get(item.base or "")
        if base is not None and base.meta is not None and item.meta is not None and base.name in self.titles:
            view = fills.view_of(base.meta, item.meta)
            if view is not None:
                return self.titles[base.name] + view
        text = fills.creation(item, requires_grad=self._wants_grad(item))
        if self._wants_grad(item) and item.name in self.changed:
            return f"{text}.clone()"  # a leaf that requires grad cannot be changed in place
        return text

    def _wants_grad(self, item: GraphInput) -> bool:
        if item.meta is None or self.case.level != "dynamo":
            return False
        return item.meta.requires_grad and (item.meta.dtype in fills.FLOATS | fills.COMPLEX)

    def _calls(self) -> Calls:
        outputs = tuple(self._outputs())
        backward = self.case.backward and self.case.level == "dynamo"
        if backward and not any(item.differentiable for item in outputs):
            raise Unprintable("a backward pass is needed, but no output requires grad")
        fresh = self.form.fresh_inputs
        floating = fills.FLOATS | fills.COMPLEX
        return Calls(
            parameters=tuple(
                self.titles[item.name] if item.kind == "tensor" else repr(item.value) for item in self.arguments
            ),
            outputs=outputs,
            compiled=self._compile_call(),
            backward=backward,
            modes=self._outer_modes(),
            fresh=bool(self.changed) if fresh is None else fresh,
            eager_first=self.form.eager_first,
            floating=frozenset(
                self.titles[item.name]
                for item in self.arguments
                if item.meta is not None and item.meta.dtype in floating
            ),
            leaves=tuple(self.titles[item.name] for item in self.arguments if self._wants_grad(item)),
        )

    def _outputs(self) -> list[Output]:
        """What is known of each output; gradients are followed from the inputs, since a reducer changes those."""
        known = _metas(self.inputs)
        known.update(
            {node.name: node.out[0] for node in self.live if node.out and node.out[0] is not None and not node.multi}
        )
        carrying = _carrying_grad(self)
        found = []
        for value in self.case.outputs:
            name = value.get("ref", "") if isinstance(value, dict) else ""
            meta = known.get(name)
            dtype = meta.dtype if meta is not None else "float32"
            found.append(
                Output(
                    differentiable=name in carrying
                    and dtype in fills.FLOATS | fills.COMPLEX
                    and (meta is None or meta.requires_grad),
                    complex=dtype in fills.COMPLEX,
                    scalar=meta is not None and not meta.shape,
                    tensor=meta is not None,
                )
            )
        return found

    def _compile_call(self) -> str:
        context, options = self.case.context, []
        if self.form.dynamic and (context.dynamic is not None or self._has_symbols()):
            options.append(f"dynamic={context.dynamic if context.dynamic is not None else True}")
        if self.form.fullgraph and context.fullgraph:
            options.append("fullgraph=True")
        if self.form.mode and context.mode is not None:
            options.append(f'mode="{context.mode}"')
        if self.form.mode and context.options:
            options.append(f"options={dict(sorted(context.options.items()))!r}")
        backend = f'backend=os.environ.get("TORCH_COMPILE_BACKEND", "{self.case.backend}")'
        return f"torch.compile({', '.join(['f', backend, *options])})"

    def _has_symbols(self) -> bool:
        return any(item.meta is not None and item.meta.symbols for item in self.inputs)

    def _outer_modes(self) -> tuple[str, ...]:
        context = self.case.context
        modes = []
        if context.inference_mode:
            modes.append("torch.inference_mode()")
        elif not context.grad_enabled and self.case.level == "dynamo":
            modes.append("torch.no_grad()")
        if context.autocast and self.case.level == "dynamo":
            modes.append(autocast(context.autocast[0], context.autocast[1] if len(context.autocast) > 1 else None))
        return tuple(modes)


def _is_constant(item: GraphInput) -> bool:
    return item.role == "constant" and item.data is not None and item.meta is not None


def _metas(inputs: list[GraphInput]) -> dict[str, TensorMeta]:
    return {item.name: item.meta for item in inputs if item.meta is not None}


def _changed_inputs(case: GraphCase, live: list[GraphNode]) -> frozenset[str]:
    """Inputs that the function changes, also through a view: whatever an in-place operator reaches by first arguments."""
    roots = {item.name: {item.name} for item in case.inputs if item.kind == "tensor"}
    changed: set[str] = set()
    for node in live:
        names = node_references(node)
        first = names[0] if names else ""
        roots[node.name] = set(roots.get(first, ()))
        if node.target not in MODE_SWITCHES and changes_something(node):
            for name in names[:1] if node.kind == "call_method" or "operator." in node.target else names:
                changed |= roots.get(name, set())
    return frozenset(changed)


def _carrying_grad(script: _Script) -> set[str]:
    carrying = {item.name for item in script.arguments if script._wants_grad(item)}
    enabled = True
    for node in script.live:
        if node.target == SET_GRAD and node.args:
            enabled = bool(node.args[0])
        elif enabled and carrying.intersection(node_references(node)):
            carrying.add(node.name)
    return carrying


_IMPORTS = (
    (r"\bmath\.", "import math"),
    (r"\boperator\.", "import operator"),
    (r"\bos\.environ", "import os"),
    (r"\btorch\.", "import torch"),
    (r"\btorch\._higher_order_ops\.", "import torch._higher_order_ops"),
    (r"\btorch\.ops\.prims\.inductor_", "import torch._inductor.inductor_prims"),
    (r"\btorch\._dynamo\.", "import torch._dynamo"),
    (r"\btorch\._inductor\.config", "import torch._inductor.config"),
    (r"\btorch\._functorch\.config", "import torch._functorch.config"),
    (r"\bF\.\w", "import torch.nn.functional as F"),
    (r"(?<![\w.])same\(", "from torch._dynamo.utils import same"),
    (r"(?<![\w.])checkpoint\(", "from torch.utils.checkpoint import checkpoint"),
)


def _imports(body: str) -> list[str]:
    wanted = [line for pattern, line in _IMPORTS if re.search(pattern, body)]
    standard = [line for line in wanted if "torch" not in line]
    torch = sorted((line for line in wanted if "torch" in line), key=lambda line: (line.startswith("from"), line))
    return [*standard, *([""] if standard else []), *torch]
