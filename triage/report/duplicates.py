"""Is it known already? A query for GitHub's issue search, made of what two reports of one bug have in common.

That is the text of the error without what varies, the function of torch that raised it, and the operator. An issue has one of
them or another: some quote the error only in their title, some have a traceback and no words. So the query is a phrase of
the message, or else the names together; a phrase that many errors share is asked for with one of the names. GitHub takes 256
characters and five AND, OR, NOT (docs.github.com, "Troubleshooting search queries").

Nothing of the user's program may be in it. A message quotes names, paths and shapes of the program, so a phrase is made of
plain words alone: what is in quotes, has a digit, an underscore or a capital inside, or is a name that the program
defines, ends it. Function names are those of torch's own frames, operators those of its own namespaces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from urllib.parse import quote_plus

from triage.judge.naming import headline
from triage.model.effects import REGISTERED_NAMESPACES
from triage.model.report import Duplicates, ReportSignature, TriageReport
from triage.model.stage import Stage, Symptom
from triage.model.text import words
from triage.report.kinds import is_wanted

REPOSITORY = "pytorch/pytorch"
LIMIT = 256
LONGEST_PHRASE = 9  # words; of a longer one the rest tells nothing more
STRONG_PHRASE = 3  # words besides the small ones: with fewer, many issues have it that are about something else

# What an issue calls a failure that has no message of its own. At most three OR in each.
_SYMPTOMS = {
    Symptom.CRASH: ("segfault", "crash", "SIGSEGV", "abort"),
    Symptom.HANG: ("hang", "hangs", "stuck", "timeout"),
    Symptom.WRONG_RESULT: ("wrong", "incorrect", "mismatch", "different"),
}
_KINDS = {  # of a wrong result
    "strides": ("strides", "stride"),
    "dtype": ("dtype",),
    "shape": ("shape",),
    "nan": ("nan",),
    "inf": ("inf",),
    "zero_sign": ("sign", "signbit", "negative"),
    "aliasing": ("alias", "aliasing", "view"),
    "requires_grad": ("requires_grad",),
    "mutation": ("mutation", "inplace", "mutated"),
}
_STAGES = {
    Stage.DYNAMO: "dynamo",
    Stage.AOT_AUTOGRAD: "aot_autograd",
    Stage.DECOMP_PARTITION: "decomposition",
    Stage.INDUCTOR: "inductor",
}
# Functions of torch that stand in the traceback of most failures.
_UNTELLING = words(
    """__call__ __init__ __torch_dispatch__ __torch_function__ __bool__ apply backward call call_function call_method check
    codegen codegen_and_compile compile compile_fx create decorate dispatch fn forward func handler helper inner inner_fn
    meta_fn method new_func proxy_call result run run_node step transform wrap_with wrapped wrapper _fn _wrapper wrap
    wrap_fx_proxy wrap_fx_proxy_cls get_fake_value unimplemented unimplemented_v2 call_user_compiler compile_inner
    load_fn future result_fn compile_to_module propagate_real_tensors cached_dispatch_impl break_graph_if_unsupported
    _check_with _run_compile_cmd run_compile_cmd _runtime_wrapper runtime_wrapper assert_close maybe_handle_decomp
    _get_fake_value_impl get_fake_value_from_nodes functionalize fake_signature call_function_no_graph inline_call inline_call_
    inline_user_function_return generic_jump call_user_function"""
)
# And those that say of themselves that they only pass an error on: raise_error, _wrap_graph_break_with_torch_runtime_err.
_PASSES_ON = re.compile(r"(?:\A|_)(?:re)?(?:raise|wrap)_(?:\w+_)?(?:err|error|exc|exception)s?(?:_|\Z)")
# Modules whose name says what they do; of others (utils, graph, lowering) every issue has the file.
_TELLING_MODULES = words(
    """post_grad pre_grad joint_graph pattern_matcher index_propagation partitioners cudagraph_trees symbolic_shapes value_ranges
    flex_attention mkldnn_lowerings functional_tensor micro_pipeline_tp split_cat group_batch_fusion bounds dependencies
    auto_functionalize reinplace memory_planning comm_lowering cpp_wrapper_cpu cpp_gemm_template select_algorithm"""
)
# Messages that are known by a name of torch's which does not stand in them.
_KNOWN_AS = ((re.compile(r"expected size -?\d+==-?\d+, stride"), "assert_size_stride"),)
_STOPS = words(
    """a an and are as at be but by can did do does for from got has have in is it its of on or see such that the this to was when
    where which while with"""
)
# Said of many failures: by torch, by Python, by the C++ compiler.
_EVERYWHERE = re.compile(
    r"(?i)please (?:file|report|submit|open)(?:[^.]|\.(?!\s))*|(?:this|it) is (?:likely |probably )?a bug\b.*|internal error\b"
    r"|assert(?:ion)? failed|RuntimeError when making fake tensor call|\AC\+\+ compile error:|expected to be|got an? "
    r"|see .* for more\b.*"
)
# A sentence on what to do, or on what the reader may have done, after what has failed.
_ADVICE = re.compile(
    r"(?:^|(?<=[.!?:]\s))(?:You should|Please|Consider|Try|Make sure|If you|Did you|Perhaps you|Maybe you)\b"
    r"(?:[^.!?]|[.!?](?!\s|$))*"
)
_OF_PYTHON = re.compile(
    r"index out of range|out of bounds|has no attribute|unsupported operand|required positional|positional arguments?"
    r"|not (?:subscriptable|iterable|callable|hashable)|unhashable type|recursion depth|unexpected keyword"
    r"|division by zero|too many values"
)
_FAKE_CALL = re.compile(r"got (\w+)\((['\"])(.*?)\2(?:\)|,)", re.DOTALL)
_QUOTED = re.compile(r"(?s)'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|\u2018[^\u2019\n]*\u2019|<[^<>\n]*>")
_WORD = re.compile(r"(?:[A-Z]?[a-z]+|[A-Z]+|[aA])(?:-[a-z]+)*")
# Torch's own words, but which of them varies.
_DTYPE = re.compile(r"(?:B?F|f|bf)loat\d+|(?:UI|u?i|I)nt\d+|[Cc]omplex\d+")
# Torch's own classes, whose names have a capital inside as names of the program have.
_CLASSES = words(
    """AutogradFunction BatchedTensor ConstantVariable DTensor FakeTensor FakeTensorMode FunctionalTensor GradTrackingTensor
    GraphModule HigherOrderOperator NestedTensor OpOverload OpOverloadPacket ProxyTensor SparseTensor SymBool SymFloat SymInt
    SymNodeVariable TensorBox TensorVariable UserDefinedObjectVariable ZeroTensor"""
)


def duplicates_of(report: TriageReport, private: Collection[str] = ()) -> Duplicates | None:
    """The query for this failure; None where it is no bug of PyTorch, or where nothing in it tells.

    `private` are names that the user's program defines.
    """
    signature = report.signature
    blamed = report.verdict.stage in _STAGES or report.verdict.door is not None
    if signature is None or not blamed or not is_wanted(report):
        return None
    operator = _operator(report.culprit.op if report.culprit is not None else None)
    # The message is the program's; so is the one with which it ends itself, of which no line is known.
    own = report.raised_in not in (None, "torch") or signature.exception_type == "SystemExit"
    phrase = "" if own or _is_silent(report, signature) else _phrase(signature.message, frozenset(private))
    if not phrase and report.verdict.symptom in _SYMPTOMS:
        kind = signature.wrong.kind if signature.wrong is not None else ""
        called = _KINDS.get(kind, _SYMPTOMS[report.verdict.symptom])
        return _made(f"{operator} {_any(called)} compile") if operator else None
    names = list(dict.fromkeys(name for name in (_function(signature), operator) if name))
    kind = signature.exception_type if not own and signature.exception_type.isidentifier() else ""
    return _made(_text(phrase, names, kind, _STAGES.get(report.verdict.stage, "compile")))


def _is_silent(report: TriageReport, signature: ReportSignature) -> bool:
    """Whether the message is not torch's: a check of the script's own, or where a process was when it ended."""
    if signature.wrong is not None or report.verdict.symptom in (Symptom.WRONG_RESULT, Symptom.HANG):
        return True
    told = headline(signature.exception_type, signature.message)
    return report.verdict.symptom is Symptom.CRASH and not told.endswith(signature.message)


def _text(phrase: str, names: Sequence[str], kind: str, stage: str) -> str:
    """The words of a query; empty where they would find everything."""
    everyday = len(names) == 1 and not _tells(names[0])  # `view`: of itself it finds everything
    if not phrase:
        apart = [each for each in (kind, stage) if each]
        return " ".join([*names, *(apart if everyday else apart[:1])] if len(names) == 1 else names)
    common = _OF_PYTHON.search(phrase) is not None
    if _worth(phrase.split()) >= STRONG_PHRASE and not common:
        return f'("{phrase}" OR {_all(names)})' if names and not everyday else f'"{phrase}"'
    beside = [*names, kind] if kind and not common else names
    return f'"{phrase}" {_any(beside or [stage])}'


def _made(text: str) -> Duplicates | None:
    query = f"repo:{REPOSITORY} is:issue {text}"
    if not text or len(query) > LIMIT:
        return None
    return Duplicates(query, f"https://github.com/{REPOSITORY}/issues?q={quote_plus(query)}")


def _any(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({' OR '.join(names)})"


def _all(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({' '.join(names)})"


def _operator(name: str | None) -> str:
    """`convolution_backward` of `aten.convolution_backward.default`; empty for an operator of the program's own."""
    parts = (name or "").replace("::", ".").split(".")
    if len(parts) == 1 or parts[0] not in ("torch", *REGISTERED_NAMESPACES):
        return ""
    bare = parts[-1] if parts[0] == "torch" else parts[1].rstrip("_")
    return bare if bare.isidentifier() else ""


def _function(signature: ReportSignature) -> str:
    """What of torch's own names few tracebacks have, the innermost first; empty where there is none."""
    for pattern, name in _KNOWN_AS:
        if pattern.search(signature.message):
            return name
    for frame in signature.frames:
        file, _, name = frame.rpartition(":")
        name, module = name.rpartition(".")[2], file.rpartition("/")[2].removesuffix(".py")
        own = name.isidentifier() and name not in _UNTELLING and not _PASSES_ON.search(name)
        if own and _tells(name):
            return name
        if module in _TELLING_MODULES:
            return module
    return ""


def _tells(name: str) -> bool:
    """Whether few texts have it that mean something else."""
    return "_" in name.strip("_") or len(name) > 7


def _phrase(message: str, private: frozenset[str]) -> str:
    """The words of the message that tell most, as they stand in it; empty where there are no two."""
    inner = _FAKE_CALL.search(message)
    lines = (inner.group(3) if inner else message).split("\n\n")[0].splitlines()[:6]
    told = max((run for line in lines for run in _runs(_ADVICE.sub("|", line), private)), key=_worth, default=[])
    every = max((run for line in lines for run in _runs(line, private)), key=_worth, default=[])
    best = told if _worth(told) >= STRONG_PHRASE else every
    return " ".join(best) if len(best) > 1 else ""


def _runs(line: str, private: frozenset[str]) -> Iterator[list[str]]:
    """Plain words that follow each other with nothing but a space between them."""
    line = _EVERYWHERE.sub("|", _QUOTED.sub("|", line))
    run: list[str] = []
    for token in [*line.split(), "|"]:
        word = token.rstrip(".!?,:;")
        plain = (_WORD.fullmatch(word) is not None or word in _CLASSES) and word not in private
        plain = plain or (bool(run) and _DTYPE.fullmatch(word) is not None)
        if plain:
            run.append(word)
        if (not plain or word != token) and run:
            yield _trimmed(run)
            run = []


def _trimmed(run: list[str]) -> list[str]:
    """Without small words at its ends; of a long one the beginning."""
    kept = run[:]
    while kept and kept[0].lower() in _STOPS:
        kept.pop(0)
    kept = kept[:LONGEST_PHRASE]
    while kept and (kept[-1].lower() in _STOPS or _DTYPE.fullmatch(kept[-1])):
        kept.pop()
    return kept


def _worth(run: list[str]) -> int:
    return sum(word.lower() not in _STOPS for word in run)
