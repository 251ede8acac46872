"""The text of an error: what is at the bottom of torch's wrappers, which part of it tells, and what of that stays the same.

`unwrap_text` finds the type and message that a wrapper carries in its own text, `telling_lines` cuts away advice, dumps and
compiler commands, `skeleton` replaces what varies between two runs of one failure (shapes, line numbers, addresses, paths,
generated names) by placeholders. Pure functions over text; the formats are those of torch 2.1 to 2.15.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable

from triage.judge.device import (
    WHOEVER_SAYS_IT,
    is_of_kernel_text,
    of_last_config,
    ptxas_error,
    reason_of,
    reason_or_line,
)
from triage.judge.equivalences import RENAMED_TYPES
from triage.model.text import ESCAPES

# Wrappers whose own type says nothing; the exception they carry is the failure. Their text carries it after their own:
#   BackendCompilerFailed: backend='inductor' raised:\nTypeError: ...        (torch/_dynamo/exc.py)
#   InductorError: LoweringException: TypeError: ...\n  target: aten.x       (torch/_inductor/exc.py, 2.7 and newer)
#   SubprocException: An exception occurred in a subprocess:\n\nName=...\nTraceback ...  (compile_worker/subproc_pool.py)
_NAMED_WRAPPERS = frozenset({"BackendCompilerFailed", "InductorError", "LoweringException"})
_WRAPPED = re.compile(r"\A(?:backend=(['\"]).*?\1 raised:)?\s*(?P<type>[A-Za-z_][\w.]*):(?P<rest>.*)\Z", re.DOTALL)
# InternalTorchDynamoError names the type since 2.4; before that its text is that of the inner error alone.
_NAMED_TYPE = re.compile(
    r"\A\s*(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Failed|Interrupt|Exit|Unsupported|Iteration|SymNode))"
    r"(?::(?P<rest>.*)|\s*)\Z",
    re.DOTALL,
)
_TRACEBACK = "Traceback (most recent call last):"
_RAISED_LINE = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?::[ \t]?(?P<rest>.*))?\Z", re.MULTILINE | re.DOTALL)
_RANK = re.compile(r"\[(?:rank|default)\d+\]:[ \t]?")
_NEXT_PARAGRAPH = re.compile(r"\n\s*\n")

_RECOMPILE_LIMIT = re.compile(
    r"\A(?:Dynamo (?:cache|recompile) limit exceeded|\w*(?:cache_size_limit|recompile_limit) reached)"
)

# Everything from these lines on is advice or context, not the failure.
_TAIL_MARKS = (
    "\nfrom user code:",
    "\nSet TORCHDYNAMO_VERBOSE",
    "\nSet TORCH_LOGS",
    "\nYou can suppress this exception",
    "\n  Developer debug context:",
    "\n For more details about this graph break",
    "\n  Hint:",
    "\nWhile executing %",
    "\nOriginal traceback:",
    "\nFX node stack trace:",
    "\nGraphModule:",
    "graph():\n    %",  # a torch.fx.Graph within a sentence: it holds all that the program computes
    "\nException raised from ",
    "\nThe above exception was",
    "\nThis error most often comes from",
    "\n  target: ",
    "\n  args[0]: ",
    "\nFound from",
    "\nCommand:",
    "\nSearch for `",  # and in the next lines how to debug an error of CUDA or HIP
    "\nCUDA kernel errors might be",
    "\nHIP kernel errors might be",
    "\nDevice-side assertion",
    "\nRepro command:",
)
# What a graph break is about is told here alone for many kinds of break (2.7 and newer).
_BREAK_CONTEXT = re.compile(r"\n  Developer debug context: (\S.*?)(?=\n\s*\n|\Z)", re.DOTALL)
_VALUES = re.compile(r"(?<=[\s=*:])(?:\[(?!<class )|\{)|\bargs[:=]? ?\(")
_TARGET = re.compile(r"^\s*target: (\S+)", re.MULTILINE)
# What pytest makes of the message of an `assert` (_pytest/assertion/util.py:format_explanation): the program's own message with
# later lines indented, then what the condition was, whose own later lines are indented too.
_EXPLAINED = re.compile(r"(?:\A|\n)assert (?!.*\nassert ).*\Z", re.DOTALL)
_LATER_LINE = re.compile(r"^  ", re.MULTILINE)

REFUSED = "C++ compile error"  # how the message of a kernel that the C++ compiler refuses begins
_CPP_ERRORS = (
    re.compile(r"\.(?:cpp|cc|cxx|h|hpp|hxx|inc):\d+:(?:\d+:)? (?:fatal )?error: (.*)"),
    re.compile(r"^\S*(?:\+\+|gcc|clang|cc1plus|nvcc)\S*: (?:fatal )?error: (.*)", re.MULTILINE),
    re.compile(r"(undefined reference to .*|cannot find -l.*)"),
    re.compile(r"(error: .*)"),
)

_STATUS = re.compile(r"\A(?:exit status \d+|\d+\Z)")  # of a program that ended itself; other numbers it says vary

# Sizes: backed (s, zuf) and unbacked (u) symbols, kernel arguments; u16, i32 and the like are dtypes.
_DIM = r"(?:s|ks|ps|zuf|u(?!(?:16|32|64)\b)|i(?!(?:16|32|64)\b))\d+(?:_\d+)*"

_CALL = r"\((?:[^()\n]|\([^()\n]*\))*\)"
_SOURCE = rf"\((?:[^()\n]|{_CALL})*\)"  # `(L['x'])`, `(G['net']._parameters['w'])`, `(x)`

Replacement = str | Callable[[re.Match[str]], str]


def _size_or_stride(found: re.Match[str]) -> str:
    """Wrong sizes and wrong strides are two failures; in how many dimensions is not."""
    sizes = re.findall(r"expected size (-?\d+)==(-?\d+)", found.group(0))
    return "expected another size" if any(a != b for a, b in sizes) else "expected another stride"


_RULES: tuple[tuple[re.Pattern[str], Replacement], ...] = (
    (_RANK, ""),
    (ESCAPES, ""),
    (re.compile("[\u2018\u2019\u201c\u201d]"), "'"),  # g++ quotes according to the locale
    # One text, written in several ways by torch releases.
    (re.compile(r"\A.* when making fake tensor call\s+Explanation: "), ""),
    (
        re.compile(
            r"Dynamo failed to run FX node with fake tensors: (.+?)\(\*.*\}\): got \w+\((['\"])(.*)\2\)", re.DOTALL
        ),
        r"failed to run \1: \3",
    ),
    (re.compile(r"Failed running (.+?)\(\*.*\}\):\s*(.*)", re.DOTALL), r"failed to run \1: \2"),
    (re.compile(r"\((s\d+): hint = [^)]*\)"), r"(\1)"),
    (re.compile(r" \(unhinted: .*?\)\.(?=\s|\Z)"), "."),
    (re.compile(r"\s*\(Size-like symbols: [^)]*\)"), ""),
    (re.compile(r"\.? Did you mean: '[^']*'\?"), ""),
    # What Python was about to do at its limit is chance.
    (re.compile(r"(?<=maximum recursion depth exceeded) (?:while|in) [^\n]*"), ""),
    # What the program calls two inputs (torch/_functorch/_aot_autograd/runtime_wrappers.py:_format_input).
    (re.compile(rf"\b(input \d+) {_SOURCE} and (input \d+) {_SOURCE}"), r"\1 and \2"),
    # Which function of the program made the tensor (torch/csrc/autograd/saved_variable.cpp); of a graph's input nobody says it.
    (re.compile(r"(?<=\]), which is output \d+ of [\w:]+,(?= is at version )"), ""),
    # What of a GPU's errors varies: who tells it, how much memory there was, whose output it is.
    (WHOEVER_SAYS_IT, "CUDA error: "),
    (re.compile(r"\b(CUDA|HIP|XPU) out of memory\. Tried to allocate (?!more than).*", re.DOTALL), r"\1 out of memory"),
    (re.compile(r"out of resource: (tensor memory|threads), .*", re.DOTALL), r"out of resource: \1"),
    (re.compile(r"out of resource: [\w ]+,? Required: .*", re.DOTALL), "out of resource: shared memory"),
    (re.compile(r"(?<=overwritten by a subsequent run)\. Stack trace: .*", re.DOTALL), ""),
    # What depends on sizes alone.
    (re.compile(r"(?:expected size -?\d+==-?\d+, stride -?\d+==-?\d+ at dim=\d+(?:; )?)+"), _size_or_stride),
    (re.compile(r"index out of bounds: 0 <= .*"), "index out of bounds"),
    (re.compile(r"\AScalars(?= are not (?:close|equal)!)"), "Tensor-likes"),  # torch/testing/_comparison.py
    # Places.
    (re.compile(r"(['\"])/[^'\"\n/]+/[^'\"\n]*\1"), "<path>"),
    (re.compile(r"(?:/[\w.@+~-]+){2,}/?"), "<path>"),
    (re.compile(r"\b[A-Za-z]:\\[\w\\.-]+"), "<path>"),
    (re.compile(r"\b[\w.-]+\.(?:py|cpp|cc|h|so|csv|pt)\b(?::\d+)*"), "<file>"),
    (re.compile(r"0x[0-9a-fA-F]+"), "<addr>"),  # below paths: by chance a temporary one may have that in its name
    (re.compile(r"\bc[a-z0-9]{40,}\b"), "<hash>"),
    (re.compile(r"\b[0-9a-f]{16,}\b"), "<hash>"),
    # Generated names. Buffers, kernel temporaries and sizes are kept apart: to miss one is not to miss another.
    (re.compile(r"\b(?:cpp|triton)_(?:fused|poi|per|red|tem|for|unk|spl)\w*|\btriton_\w*?_\d+\b"), "<kernel>"),
    (re.compile(r"\b(?:buf|op|arg_buf)\d+(?:_\d+)*\b"), "<buf>"),
    (re.compile(r"\b(?:tmp|x|r|y|z)\d+(?:_\w*)?\b"), "<tmp>"),
    (re.compile(rf"(['\"]){_DIM}\1"), r"\1<dim>\1"),
    (re.compile(rf"\b{_DIM}\b"), "0"),  # a symbolic size stands where a number stands when shapes are static
    (re.compile(r"\b(?:primals|tangents|arg|fwd|p)_?\d+(?:_\d+)*\b"), "<sym>"),
    (re.compile(r"%\w+"), "%<sym>"),
    (re.compile(r"\b[A-Za-z_]*\d+__[a-z_]*\b"), "<sym>"),
    (re.compile(r"\b([A-Za-z_]\w*?)(?:_\d+)+\b"), r"\1"),
    # Numbers, and what is made of them.
    (re.compile(r"\b\d+(?:x\d+)+\b"), "N"),
    (re.compile(r"(?:(?<=[\s(\[,=])[-+])?(?<![\w.])\d+(?:\.\d+)*\.?(?:[eE][-+]?\d+)?(?:ll|LL|[LlfU])?(?!\w)"), "N"),
    (re.compile(r"\bN [KMGT]?i?B\b|\bN bytes\b"), "N bytes"),
    (re.compile(r"(?:torch\.)?Size\(\[[^\]]*\]\)"), "<size>"),
    (re.compile(r"[ \t]+"), " "),
)
_ITEM = r"(?:N|<sym>|[\[(]N[\])])"
_NUMBERS = re.compile(rf"([\[(])\s*{_ITEM}(?:,\s*{_ITEM})*,?\s*([\])])")
_ROW = re.compile(r"(?:\b(?:N|nan|inf),\s*)+(?:\.\.\.,\s*)?\b(?:N|nan|inf)\b(?:,\s*\.\.\.)?")
# A size may be any expression of sizes; how it was computed is not what fails. The functions are those of
# torch/utils/_sympy/functions.py and sympy's own that its expressions print as.
_SIZE_FUNCTION = (
    r"(?:TruncToInt|TruncToFloat|FloorToInt|CeilToInt|RoundToInt|RoundDecimal|ToFloat|IntTrueDiv|FloatTrueDiv|FloorDiv|CeilDiv|"
    r"CleanDiv|Mod|PythonMod|ModularIndexing|PowByNatural|FloatPow|Max|Min|Abs|Identity|LShift|RShift|floor|ceiling|sqrt|"
    r"OpaqueUnaryFn_\w+)"
)
_ARITHMETIC: tuple[re.Pattern[str], ...] = (
    re.compile(rf"\b{_SIZE_FUNCTION}\(N(?:, N)*\)"),
    re.compile(r"(?<=[-+*/%(] )\(N\)|(?<=[-+*/%(])\(N\)|\(N\)(?= ?(?:[+*/%]|- ))"),
    re.compile(r"\bN ?(?:\*\*|//|[*/%]) ?-?N\b"),
    re.compile(r"\bN [-+] N\b(?! ?[*/%])"),
)
LIMIT = 400
_OPENS = re.compile(r"[\[({](?=[\[({'\"\dTFN-])")  # what a collection may begin with, as Python writes it
_CLOSES = re.compile(r"[\])}]")
_WORD = re.compile(r"['\"]|\b(?:True|False|None)\b")
MOST_CLOSED = 64  # brackets, until it is taken for no collection
EXPRESSION_DEPTH = 60


def short_type(type_name: str) -> str:
    """The class name without its module, after renames between torch releases."""
    name = type_name.rsplit(".", 1)[-1]
    return RENAMED_TYPES.get(name, name)


def unwrap_text(type_name: str, message: str) -> tuple[str, str]:
    """(type, message) at the bottom of torch's wrappers, from the text alone."""
    for _ in range(6):
        name = short_type(type_name)
        if name in _NAMED_WRAPPERS:
            found = _WRAPPED.match(message)
        elif name == "SubprocException":
            found = last_raised(message)
            if found is not None and _lacks_reason(found):
                # The first of the chain has it, of a function that the kernel calls.
                first = last_raised(_without_tail(message))
                type_name, message = found["type"], ((first or found)["rest"] or "")
                break
        elif name in ("RuntimeError", "NoTritonConfigsError") and (config := of_last_config(message)):
            type_name, message = config
            continue
        elif name == "InternalTorchDynamoError":
            found = _NAMED_TYPE.match(message)
        else:
            break
        if found is None:
            break
        type_name, message = found.group("type"), found.group("rest") or ""
    if short_type(type_name) == "Unsupported" and _RECOMPILE_LIMIT.match(message.strip()):
        type_name = "RecompileLimitExceeded"
    return type_name, message.lstrip(" ")


def _lacks_reason(raised: re.Match[str]) -> bool:
    return is_of_kernel_text(short_type(raised["type"])) and not reason_of(_without_tail(raised["rest"] or ""))


def last_raised(text: str) -> re.Match[str] | None:
    """The error below the last traceback (`type`, `rest`): the first line after its frames that is not indented."""
    text = _RANK.sub("", text)
    place = text.rfind(_TRACEBACK)
    if place < 0:
        return None
    lines = text[place + len(_TRACEBACK) :].lstrip("\n").splitlines()
    number = next((number for number, line in enumerate(lines) if line[:1].strip()), None)
    return None if number is None else _RAISED_LINE.match("\n".join(lines[number:]))


def telling_lines(type_name: str, message: str) -> str:
    """The part of a message that says what happened: no advice, no compiler command line, no dump of a graph."""
    name = short_type(type_name)
    if name in ("CppCompileError", "CUDACompileError", "CppWrapperCodegenError", "CalledProcessError"):
        found = next(filter(None, (pattern.search(message) for pattern in _CPP_ERRORS)), None)
        if found is not None:
            return f"{REFUSED}: {found.group(1).strip()}"
    context = _BREAK_CONTEXT.search(message)
    target = _TARGET.search(message)
    text = _without_tail("\n" + message.lstrip("\n")).strip()
    if is_of_kernel_text(name):
        return reason_or_line(text)
    if name == "PTXASError" or "PTX codegen error" in text[:200]:  # the latter in a RuntimeError, before Triton 3.2
        return ptxas_error(message) or text
    if context is not None:
        return f"{text}\n  Context: {context.group(1).strip()}"
    if not text and target is not None:  # a bare `assert` in a lowering: the operator is all there is
        return f"target: {target.group(1)}"
    return text


def _without_tail(text: str) -> str:
    for mark in _TAIL_MARKS:
        place = text.find(mark)
        if place >= 0:
            text = text[:place]
    return text


def without_explanation(message: str) -> str:
    r"""What the program itself said in an `assert` that pytest explains; empty where it said nothing.

    >>> without_explanation("too far off\nassert tensor(1.) < 1e-05")
    'too far off'
    """
    own = _EXPLAINED.sub("", message)
    return message if own == message else _LATER_LINE.sub("", own)


def without_collections(message: str) -> str:
    r"""A program's own words without what a collection in them holds: that is a value, as a number is.

    A collection of numbers alone is left to the skeleton.

    >>> without_collections("evicted ['chat', 'code'] of {'chat': 1} (at least 2)")
    'evicted [] of {} (at least 2)'
    """
    kept, place = [], 0
    for found in _OPENS.finditer(message):
        end = _end_of_collection(message, found.start()) if found.start() >= place else 0
        if end:
            kept.append(message[place : found.end()])
            place = end
    return "".join([*kept, message[place:]])


def _end_of_collection(text: str, start: int) -> int:
    """Where the collection that is written from `start` on is closed; 0 where none is, or one of numbers alone."""
    for found in itertools.islice(_CLOSES.finditer(text, start), MOST_CLOSED):
        written = text[start : found.end()]
        try:
            value = ast.literal_eval(written)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        holds_words = isinstance(value, (list, tuple, dict, set)) and _WORD.search(written) is not None
        return found.start() if holds_words else 0
    return 0


def skeleton(message: str) -> str:
    """The message with everything that varies between two runs of one failure replaced by placeholders."""
    text = message
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    for _ in range(EXPRESSION_DEPTH):
        before = text
        for pattern in _ARITHMETIC:
            text = pattern.sub("N", text)
        if text == before:
            break
    for _ in range(4):  # numbers within rows within lists
        text = _NUMBERS.sub(r"\1N\2", _ROW.sub("N", text))
    return text.strip()[:LIMIT]


def skeleton_of(type_name: str, telling: str) -> str:
    """The skeleton of telling lines: their first paragraph, and what a graph break is about."""
    if short_type(type_name) == "RecompileLimitExceeded":
        return "recompile limit"  # its text was rewritten in nearly every release
    status = _STATUS.match(telling) if short_type(type_name) == "SystemExit" else None
    if status is not None:  # given by the program, to be told from its other endings
        return status[0] + skeleton(telling[status.end() :])
    head, mark, context = telling.partition("\n  Context: ")
    first = _NEXT_PARAGRAPH.split(head, maxsplit=1)[0]
    return skeleton(first + mark + _without_values(context))


def _without_values(context: str) -> str:
    """What a graph break is about, without the values that were passed: Dynamo knows one now by its value, now by its type.

    Types in a list of types stay: of an operator they are all that tells.
    """
    kept, place = [], 0
    for found in _VALUES.finditer(context):
        if found.start() < place:
            continue
        end = _closing(context, found.end() - 1)
        kept.append(context[place : found.end()])
        place = end
    return "".join([*kept, context[place:]])


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` is closed; the end of the text where it never is."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place
    return len(text)
