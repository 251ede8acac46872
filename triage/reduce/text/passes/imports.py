"""`torch.nn.functional` in place of `F`: an import less."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.reduce.text.code.names import Occurrences
from triage.reduce.text.code.nodes import bound_name
from triage.reduce.text.code.script import Edit, Script
from triage.reduce.text.passes.choice import Choice, one

# What `import torch` brings in 2.6 to 2.15. Any other module has to be imported by its name, which a warm interpreter does not
# show: there all are at hand.
_WITH_TORCH = frozenset(
    (  # noqa: SIM905 - a table of words
        "_dynamo _inductor _inductor.config amp autograd autograd.forward_ad autograd.functional autograd.graph "
        "autograd.profiler backends backends.cpu backends.cuda backends.cudnn backends.mkldnn backends.mps compiler "
        "cpu cuda cuda.amp cuda.graphs distributed distributions export fft func functional fx fx.experimental "
        "fx.experimental.proxy_tensor fx.graph jit library linalg masked mps multiprocessing nested nn nn.attention "
        "nn.functional nn.init nn.modules nn.parallel nn.parameter nn.utils nn.utils.parametrizations "
        "nn.utils.parametrize nn.utils.rnn nn.utils.stateless onnx optim optim.lr_scheduler optim.swa_utils overrides "
        "profiler random sparse special testing utils utils.data utils.dlpack xpu"
    ).split()
)


def propose(script: Script) -> Iterator[Choice]:
    """`torch.nn.functional` in place of `F`: an import less."""
    seen = Occurrences(script)
    for statement in script.tree.body:
        if not isinstance(statement, ast.Import | ast.ImportFrom) or len(statement.names) != 1:
            continue
        alias = statement.names[0]
        path = alias.name if isinstance(statement, ast.Import) else f"{statement.module}.{alias.name}"
        places = seen.reads(bound_name(alias))
        # What is used like a module may be one: `from torch.nn.utils import prune`.
        is_module = isinstance(statement, ast.Import) or any(script.text.startswith(".", at.end) for at in places)
        module = path if is_module else path.rpartition(".")[0]
        if not _comes_with_torch(module) or path == "torch" or alias.name == "*":
            continue
        if places and all(place.placed for place in places) and (alias.asname or isinstance(statement, ast.ImportFrom)):
            edits = [Edit(place.start, place.end, path) for place in places]
            told = any(isinstance(item, ast.Import) and item.names[0].name == "torch" for item in script.tree.body)
            yield one(Edit(*script.lines_span(statement), "" if told else "import torch\n"), *edits)


def _comes_with_torch(module: str) -> bool:
    package, _, rest = module.partition(".")
    return package == "torch" and (not rest or rest in _WITH_TORCH)
