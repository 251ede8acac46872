"""What can be changed about a compile from a user's program, and the configuration that this torch has, as one table.

Each row of `SWITCHES` turns one part of the compiler off, or makes it work another way. A reproducer that passes with it
names the part; where it is a sensible thing to write in a program, it is a workaround as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triage.culprit.ways_round.source import Source, after_imports
from triage.model.rungs import LADDER
from triage.model.stage import Stage

INDUCTOR = "torch._inductor.config"
AOT = "torch._functorch.config"
DISPATCHER = "torch._ops"
GENTLE, SLOWER, SLOWEST = 2, 3, 4


@dataclass(frozen=True)
class Setting:
    """A change of a program, for machines: `name` is an argument of torch.compile, one of its `options`, `backend`, or
    the whole path of a line of configuration.

    `value` None takes it out. `text` is what a person writes. `cost` orders them, 0 for the least.
    """

    kind: str  # argument | option | config | backend
    name: str
    value: Any
    text: str
    cost: int

    @property
    def how(self) -> str:
        """In the words of a sentence: "with `dynamic=True`", "without the option `max_autotune`"."""
        if self.kind == "option":
            return f"without the option `{self.name}`"
        return f"without `{self.name}=`" if self.value is None else f"with `{self.name}={self.value!r}`"

    def stands_in(self, words: str) -> bool:
        """Whether a change of a program, in the words of a way round, is this one."""
        if self.value is None:
            return self.how in words
        equals = " = " if self.kind == "config" else "="
        return any(f"`{self.name}{equals}{value}`" in words for value in (repr(self.value), f'"{self.value}"'))


def workarounds_of(texts: Sequence[str], cures: Sequence[Setting], failed: Sequence[str]) -> tuple[str, ...]:
    """The texts of cures, without those that are among the changes with which the script `failed`, in words."""
    disproved = {cure.text for cure in among(cures, failed)}
    return tuple(text for text in texts if text not in disproved)


def not_disproved(cures: Sequence[Setting], failed: Sequence[str]) -> tuple[Setting, ...]:
    """The cures that are not among the changes with which the script `failed`, in words."""
    disproved = among(cures, failed)
    return tuple(cure for cure in cures if cure not in disproved)


def among(cures: Sequence[Setting], changes: Sequence[str]) -> tuple[Setting, ...]:
    """Those that are among these changes of a program, in words."""
    return tuple(cure for cure in cures if any(map(cure.stands_in, changes)))


@dataclass(frozen=True)
class Switch:
    """One row: a part of the compiler, and the option that turns it off, or makes it work another way, if there is one.

    `counted`: the agent counts how often it is applied, and can stop after any application (`agent/warm/parts.py`). `within`
    names the wider parts that hold this one. `also` are options that go with it where the torch has them. `cost` None: for
    finding out, and nothing for a program. `needs` is a pattern: what a script has for which this says something. `begins` is
    the lowest rung that has the part, where the module's others begin later. `modes` are those of torch.compile that set the
    option whatever the configuration says, each with the mode that only lacks it. `accepted`: it says nothing of a kernel
    that the C++ compiler refuses to read. `dear`: its first use has headers compiled anew, so it is asked of a suspect only.
    `late`: asked where nothing else was found.
    """

    part: str
    module: str = INDUCTOR
    option: str = ""
    value: Any = None
    cost: int | None = None
    counted: bool = False
    within: tuple[str, ...] = ()
    also: tuple[tuple[str, Any], ...] = ()
    needs: str = ""
    begins: Stage | None = None
    modes: tuple[tuple[str, str], ...] = ()
    accepted: bool = False
    dear: bool = False
    late: bool = False

    @property
    def name(self) -> str:
        return f"{self.module}.{self.option}"

    @property
    def text(self) -> str:
        return f"{self.name} = {self.value!r}"

    @property
    def change(self) -> Setting | None:
        """The same as a workaround."""
        return None if self.cost is None else Setting("config", self.name, self.value, self.text, self.cost)


GRAPH_PASSES = ("pre_grad_passes", "joint_graph_passes", "post_grad_passes")
LOWERINGS = ("lowerings",)
ON_CUDA = r"['\"]cuda\b|\.cuda\("  # a device: `torch.backends.cuda` is known on the CPU, too
TEMPLATES_ON_CUDA = rf"(?s)\A(?=.*(?:{ON_CUDA})).*max.autotune"
ON_CPU = rf"(?s)\A(?!.*(?:{ON_CUDA}))"
GRAPHED = (("reduce-overhead", "default"), ("max-autotune", "max-autotune-no-cudagraphs"))
REALIZED = (("realize_cpu_acc_reads_threshold", 0), ("realize_reads_threshold", 0))
RANDOM = r"dropout|_like\(|bernoulli|multinomial|normal_|uniform_|exponential_|random_|\brrelu"
PLAIN_COMPILE = (("cpp_cache_precompile_headers", False),)

# With the casts of the call (https://github.com/pytorch/pytorch/issues/179804); eager's backward pass has those around it.
BACKWARD_CASTS = Switch(
    "casts of the backward pass",
    AOT,
    "backward_pass_autocast",
    "off",
    GENTLE,
    needs=r"autocast",
    begins=Stage.AOT_AUTOGRAD,
)
# Wider parts first, then the most telling.
SWITCHES = (
    Switch("pre_grad_passes", counted=True),
    Switch("joint_graph_passes", counted=True),
    Switch("post_grad_passes", counted=True),
    Switch("py_impl decomposition", DISPATCHER, counted=True),
    Switch("decomposition", AOT, counted=True),
    Switch("lowerings", counted=True),
    Switch("pattern matcher", option="pattern_matcher", value=False, cost=GENTLE, counted=True, within=GRAPH_PASSES),
    Switch("fusion", option="max_fusion_size", value=1, cost=SLOWER, counted=True, within=LOWERINGS),
    Switch(
        "vectorisation", option="cpp.simdlen", value=1, cost=SLOWER, counted=True, within=LOWERINGS,
        also=PLAIN_COMPILE, dear=True, needs=ON_CPU,
    ),
    Switch(
        "index propagation", option="constant_and_index_propagation", value=False, cost=GENTLE, within=LOWERINGS,
    ),
    Switch("inlining", option="realize_acc_reads_threshold", value=0, within=LOWERINGS, also=REALIZED),
    Switch("buffer reuse", option="allow_buffer_reuse", value=False, cost=SLOWER, within=LOWERINGS),
    Switch("in-place buffers", option="inplace_buffers", value=False, cost=SLOWER, within=LOWERINGS),
    Switch("loop ordering", option="pick_loop_orders", value=False, cost=SLOWER, within=LOWERINGS),
    Switch("common subexpressions", AOT, "cse", False, GENTLE),
    Switch("constant folding", option="joint_graph_constant_folding", value=False, cost=GENTLE,
           within=("joint_graph_passes",)),
    Switch("layout optimization", option="layout_optimization", value=False, cost=GENTLE, needs=r"conv"),
    Switch("precision casts", option="emulate_precision_casts", value=True, cost=SLOWER, needs=r"float16|half\b"),
    BACKWARD_CASTS,
    Switch("random numbers", option="fallback_random", value=True, cost=GENTLE, needs=RANDOM),
    Switch("comprehensive padding", option="comprehensive_padding", value=False, cost=GENTLE, needs=ON_CUDA),
    Switch("shape padding", option="shape_padding", value=False, cost=GENTLE, needs=ON_CUDA),
    Switch("split reductions", option="split_reductions", value=False, cost=GENTLE, within=LOWERINGS, needs=ON_CUDA),
    Switch("online softmax", option="online_softmax", value=False, cost=GENTLE, needs=ON_CUDA),
    Switch("persistent reductions", option="triton.persistent_reductions", value=False, cost=GENTLE, within=LOWERINGS,
           needs=ON_CUDA),
    Switch("mixed-order reductions", option="triton.mix_order_reduction", value=False, cost=GENTLE, within=LOWERINGS,
           needs=ON_CUDA),
    Switch("coalesced tiling", option="triton.coalesce_tiling_analysis", value=False, cost=GENTLE, within=LOWERINGS,
           needs=ON_CUDA),
    Switch("epilogue fusion", option="epilogue_fusion", value=False, cost=GENTLE, within=LOWERINGS, needs=TEMPLATES_ON_CUDA),
    Switch("prologue fusion", option="prologue_fusion", value=False, cost=GENTLE, within=LOWERINGS, needs=TEMPLATES_ON_CUDA),
    Switch("approximate division", option="eager_numerics.division_rounding", value=True, cost=SLOWER, within=LOWERINGS,
           needs=ON_CUDA),
    Switch("static launcher", option="use_static_cuda_launcher", value=False, cost=GENTLE, within=LOWERINGS, needs=ON_CUDA),
    Switch("cudagraphs", option="triton.cudagraphs", value=False, cost=GENTLE, needs=ON_CUDA, modes=GRAPHED),
    Switch("caches", option="force_disable_caches", value=True, cost=SLOWER, late=True),
    Switch("freezing", option="freezing", value=True, needs=r"no_grad|inference_mode", late=True),
    Switch(
        "C++ optimisation", option="aot_inductor.debug_compile", value=True, cost=SLOWEST, within=LOWERINGS,
        also=PLAIN_COMPILE, dear=True, accepted=True, needs=ON_CPU,
    ),
)  # fmt: skip
# The lowest rung that has the part. One thread is all that a candidate has, so threads are no row.
BEGINS = {INDUCTOR: Stage.INDUCTOR, AOT: Stage.DECOMP_PARTITION, DISPATCHER: Stage.AOT_AUTOGRAD}
ENDS = {DISPATCHER: Stage.AOT_AUTOGRAD}  # the highest that has it: what fails further up passed with it on `aot_eager`

KNOWN_FILE = "known.json"
NOTHING_FOR_IT = "there is nothing for it here"
REFUSED = "the C++ compiler refuses the kernel before it optimises"


def switches_for(failing: str) -> tuple[Switch, ...]:
    """The rows that say something about the backend that fails."""
    stages = [rung.stage for rung in LADDER]
    place = next((place for place, rung in enumerate(LADDER) if rung.name == failing), -1)
    begins = {switch: stages.index(switch.begins or BEGINS[switch.module]) for switch in SWITCHES}
    ends = {switch: stages.index(ENDS.get(switch.module, stages[-1])) for switch in SWITCHES}
    return tuple(switch for switch in SWITCHES if begins[switch] <= place <= ends[switch])


def without_caches() -> tuple[Setting, ...]:
    """The change that has every graph compiled anew."""
    return tuple(switch.change for switch in SWITCHES if switch.part == "caches" and switch.change is not None)


def question_of_torch() -> str:
    """A script that writes down which of the options this torch has, and what they are without anybody's doing."""
    names = sorted({name for switch in SWITCHES if switch.option for name in [switch.name, *_companions(switch)]})
    names.append(f"{INDUCTOR}.disabled_passes")
    return f"""
import importlib
import json

known = {{}}
for name in {names!r}:
    module = ".".join(name.split(".")[:3])
    try:
        value = importlib.import_module(module)
        for part in name.split(".")[3:]:
            value = getattr(value, part)
        known[name] = repr(value)
    except (ImportError, AttributeError):
        pass
with open({KNOWN_FILE!r}, "w") as file:
    json.dump(known, file)
"""


def why_not(switch: Switch, source: str, known: Mapping[str, str] | None) -> str | None:
    """Why this option is not asked of this script; None where it is. `known` is what the torch has, if it told."""
    if switch.needs and not re.search(switch.needs, source):
        return NOTHING_FOR_IT
    if not switch.option:
        return None
    if known is not None and switch.name not in known:
        return "this torch has no such setting"
    if known is not None and known[switch.name] == repr(switch.value) and mode_of(switch, source) is None:
        return "it is so already"
    own = re.search(rf"\b{switch.option.rpartition('.')[2]}\b['\"]?\s*[=:]", source)
    return "the reproducer sets it itself" if own else None


def with_switch(source: str, switch: Switch, known: Mapping[str, str] | None = None) -> str:
    """The script with this option set after its imports, or in a mode that lacks it."""
    if mode_of(switch, source) is not None:
        modes = dict(switch.modes)
        return _given(modes).sub(lambda found: f"{found[1]}{modes[found[2]]}{found[3]}", source)
    also = [
        f"{name} = {value!r}"
        for name, value in _companions(switch).items()
        if known is not None and name in known
    ]  # fmt: skip
    return inserted(source, "\n".join([f"import {switch.module}", switch.text, *also]))


def mode_of(switch: Switch, source: str) -> str | None:
    """The mode that the script gives to torch.compile and that sets this option, which nothing else can then take back."""
    found = _given(dict(switch.modes)).search(source) if switch.modes else None
    return found[2] if found is not None else None


def text_for(switch: Switch, source: str) -> str:
    """What is changed in this script, as a person writes it."""
    mode = mode_of(switch, source)
    return switch.text if mode is None else f'mode="{dict(switch.modes)[mode]}"'


def _given(modes: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile(rf"(\bmode\s*=\s*['\"])({'|'.join(modes)})(['\"])")


def _companions(switch: Switch) -> dict[str, Any]:
    return {f"{switch.module}.{option}": value for option, value in switch.also}


def inserted(source: str, text: str) -> str:
    r"""The script with these lines below its import of torch.

    >>> inserted("import torch\nx = 1\n", "a = 2")
    'import torch\na = 2\nx = 1\n'
    """
    script = Source(source)
    return script.replaced([after_imports(script, [text])])
