"""How PyTorch's minifier is to be asked: after which stage, at which level, with which options. Pure functions.

Facts of torch/_dynamo/repro/after_dynamo.py and after_aot.py, the same from 2.1 on:

* `TORCHDYNAMO_REPRO_AFTER=dynamo` wraps whole backends, `aot` only the function that compiles one ATen graph for Inductor.
  So what fails in AOTAutograd, decompositions or partitioning is out of sight of `aot`.
* Level 2 writes a launcher when an exception passes by, 3 always and before the graph runs (a crash leaves it behind),
  4 when results differ.
* Only the `minify` command of `aot` has `--check-str` (a text that `repr` of the exception must contain) and means its
  `--isolate`: a fresh process per query, which only a crash needs, and in which any exit status but 0 counts as a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triage.judge.signature import FailureSignature
from triage.model.graphcase import GraphCase
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.printing.preamble import custom_operators, preamble

DYNAMO, AOT = "dynamo", "aot"
COMPILE_ERROR, BEFORE_RUN, ACCURACY = 2, 3, 4

# What a compile fails with; an exception of a compiled graph's run comes without one of these round it.
_COMPILE_WRAPPERS = frozenset({
    "BackendCompilerFailed", "InductorError", "LoweringException", "CppCompileError", "SubprocException",
    "InternalTorchDynamoError",
})  # fmt: skip
# Files of torch in which a bare exception can only come from a compile (a lazily compiled backward has no wrapper).
_COMPILING = re.compile(
    r"^torch/(?:_inductor/(?:lowering|ir|scheduler|graph|decomposition|pattern_matcher|cpp_builder|codegen/|fx_passes/|kernel/)"
    r"|_functorch/(?:partitioners|_aot_autograd/(?:graph_capture|collect_metadata|traced_function))"
    r"|_decomp/|_refs/|_subclasses/|_meta_registrations|_prims|fx/)"
)
# Labels that signatures put in front of what torch said, and words that say nothing by themselves.
_LABEL = re.compile(r"^C\+\+ compile error: ")
_PLAIN_TOKEN = re.compile(r"^[A-Za-z][A-Za-z_.:,;!?()\[\]=-]*$")
_LOADS = re.compile(r"\bload(?:_library|_inline)?\(")
_GENERATED = re.compile(r"^(?:cpp|triton)_")
SHORTEST_CHECK = 8


@dataclass(frozen=True)
class Minifier:
    """`after` is TORCHDYNAMO_REPRO_AFTER, `level` TORCHDYNAMO_REPRO_LEVEL; `isolate`: a fresh process per query."""

    after: str
    level: int
    isolate: bool = False

    @property
    def environment(self) -> dict[str, str]:
        return {"TORCHDYNAMO_REPRO_AFTER": self.after, "TORCHDYNAMO_REPRO_LEVEL": str(self.level)}

    def __str__(self) -> str:
        return f"TORCHDYNAMO_REPRO_AFTER={self.after}, level {self.level}"


def choose_minifier(stage: Stage, signature: FailureSignature, *, compares: bool = False) -> Minifier | str:
    """How to ask for a failure of this stage and kind; a sentence where PyTorch's minifier has nothing to offer.

    `compares` says that the failure is a check of results by the program itself, whatever kind of exception that raises.
    """
    if stage is Stage.BACKEND:
        return "PyTorch's minifier restarts backends by their registered name; a backend of the program's own has none."
    if not stage.needs_compiling:
        return "PyTorch's minifier only looks at compilers, and no compiler is to blame."
    if signature.kind is OutcomeKind.HANG:
        return "PyTorch's minifier has no time limit: what hangs in the program hangs in the minifier, too."
    after = AOT if stage is Stage.INDUCTOR else DYNAMO
    level = ACCURACY if compares else _level(signature)
    return Minifier(after, level, isolate=after == AOT and signature.kind in (OutcomeKind.CRASH,))


def lost_input(minifier: Minifier, cases: Sequence[GraphCase]) -> str:
    """Why the launcher cannot hold the graph of the program's own calls: it writes an input as a plain tensor or a number."""
    own = [case for case in cases if case.level == "dynamo"]
    inputs = [case.unwritten for case in own]
    lost = inputs[0] if inputs else None
    if minifier.after != DYNAMO or lost is None or not all(inputs):
        return ""
    return f"PyTorch's minifier writes inputs as plain tensors and numbers, and {lost.source or lost.name} is {lost.value}."


def lost_operator(cases: Sequence[GraphCase]) -> str:
    """Why the launcher cannot run the graph: it loads the libraries that custom operators come from, and carries no Python."""
    lost = [next(_registered_by_python(case), "") for case in cases]
    if not lost or not all(lost):
        return ""
    return f"PyTorch's minifier writes scripts without the custom operator {lost[0]}, which the program registers."


def _registered_by_python(case: GraphCase) -> Iterator[str]:
    for namespace, name in custom_operators(case.nodes).values():
        needed = preamble(case.preamble, [(namespace, name)]).statements
        if needed and not any(_LOADS.search(statement) for statement in needed):
            yield f"{namespace}::{name}"


def _level(signature: FailureSignature) -> int:
    if signature.kind is OutcomeKind.WRONG_RESULT:
        return ACCURACY
    if signature.kind is OutcomeKind.EXCEPTION and fails_while_compiling(signature):
        return COMPILE_ERROR
    return BEFORE_RUN


def fails_while_compiling(signature: FailureSignature) -> bool:
    """Whether an exception comes from a compile, not from a run of what was compiled."""
    if signature.wrapper in _COMPILE_WRAPPERS or signature.exception_type in _COMPILE_WRAPPERS:
        return True
    return bool(_COMPILING.match(signature.innermost_frame))


def check_string(signature: FailureSignature) -> str:
    """A literal piece of the original message that any candidate's exception must contain.

    It is the longest run of words without numbers, names in quotes or generated names, because those vary from candidate
    to candidate (and quotes and line ends are written differently by `repr`); the exception's type where there is none.
    """
    runs: list[str] = []
    for line in signature.message.splitlines()[:5]:
        runs += _plain_runs(_LABEL.sub("", line))
    best = max(runs, key=len, default="")
    return best if len(best) >= SHORTEST_CHECK else signature.exception_type


def _plain_runs(line: str) -> list[str]:
    runs: list[list[str]] = [[]]
    for token in line.split(" "):
        if _PLAIN_TOKEN.match(token) and not _GENERATED.match(token):
            runs[-1].append(token)
        else:
            runs.append([])
    return [" ".join(run) for run in runs if run]


def minify_arguments(minifier: Minifier, check: str) -> tuple[str, ...]:
    """The launcher's arguments. Accuracy has no text to check."""
    if minifier.after == DYNAMO:
        return ("minify",)
    isolation = "--isolate" if minifier.isolate else "--no-isolate"
    return ("minify", isolation, *(("--check-str", check) if minifier.level != ACCURACY else ()))
