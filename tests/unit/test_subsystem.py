"""The search of the part to blame: what is asked, what is left out, and which application is found. No torch."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from stand_ins import BOOM, NOT_KNOWN, PASSED, Questions, inquiry, late, result

from triage.culprit.compiler_parts import COUNTS, applications
from triage.culprit.settings import SWITCHES, inserted, mode_of, switches_for, text_for, why_not, with_switch
from triage.culprit.subsystem import Searched, search_parts
from triage.judge.judgement import CandidateResult
from triage.model.outcome import Outcome, RaisedException
from triage.model.report import SubsystemRow
from triage.model.stage import OutcomeKind

SOURCE = "import torch\ng = torch.compile(f)\n"
OTHER = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("TypeError", "another"))
OPTIONS = {switch.name: switch.part for switch in SWITCHES if switch.option}
WIDER = {switch.part: set(switch.within) for switch in SWITCHES}


class Machine:
    """A compiler whose application number `guilty` of a part is wrong. `breaks`: without that part another error comes.

    `uncounted` parts are those that this torch does not let be counted, nor stopped.
    """

    jobs = 2

    def __init__(
        self, part: str, guilty: int, counts: dict[str, int], breaks: str = "", tells: bool = True,
        uncounted: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.counted = {switch.part for switch in SWITCHES if switch.counted} - set(uncounted)
        self.part, self.guilty, self.counts, self.breaks, self.tells = part, guilty, counts, breaks, tells
        self.asked: list[str] = []

    def look(self, source: str, file: str) -> str | None:
        return json.dumps(dict.fromkeys(OPTIONS, "what it is"))

    def run_telling(self, source: str, files: Sequence[str], **how: Any) -> tuple[CandidateResult, Mapping[str, str]]:
        lines = [
            json.dumps([part, n, f"{part} {n}"])
            for part in self.counted
            for n in range(self.counts.get(part, 0) + 1)
        ]  # fmt: skip
        return self.run(source), {name: "\n".join(lines) if name == COUNTS else name for name in files if self.tells}

    def run_many(self, sources: Sequence[str], **how: Any) -> Any:
        for index, source in enumerate(sources):
            yield index, self.run(source)

    def run(self, source: str, **how: Any) -> CandidateResult:
        self.asked.append(source)
        off = {part for name, part in OPTIONS.items() if f"{name} = " in source}
        most: dict[str, int] = {}
        for given in re.findall(r"install\((.*)\)", source):
            parts, part, limit, _ = eval(given)
            off |= set(parts) & self.counted
            most |= {part: limit} if part else {}
        gone = bool(off & {self.part, *WIDER[self.part]}) or most.get(self.part, 1 << 30) < self.guilty
        outcome = OTHER if self.breaks in off else PASSED if gone else BOOM
        return result(outcome)

    def close(self) -> None: ...


COUNTED = {
    "pre_grad_passes": 3, "joint_graph_passes": 4, "post_grad_passes": 16, "lowerings": 5, "fusion": 4,
    "vectorisation": 2,
}  # fmt: skip


def search(machine: Machine, budget: Questions | None = None, rung: str = "inductor", source: str = SOURCE) -> Searched:
    found = search_parts(source, inquiry(machine, rung=rung, budget=budget or Questions()))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("part", "guilty"),
    [("fusion", 3), ("vectorisation", 2), ("lowerings", 5), ("post_grad_passes", 9), ("joint_graph_passes", 1)],
)
def test_a_part_and_its_application(part, guilty):
    machine = Machine(part, guilty, COUNTED)
    search_ = search(machine).search
    assert (search_.names, search_.application, search_.what) == ((part,), guilty, f"{part} {guilty}")
    assert search_.queries == len(machine.asked) <= 14


@pytest.mark.parametrize("part", ["index propagation", "common subexpressions", "buffer reuse"])
def test_a_group_is_taken_apart_only_where_it_matters(part):
    found = search(Machine(part, 1, COUNTED))
    assert found.search.names == (part,) and found.search.application is None
    (row,) = [row for row in found.rows if row.outcome == "ok"]
    assert [cure.text for cure in found.cures] == [row.setting] and OPTIONS[found.cures[0].name] == part


def test_the_optimisation_of_kernels_is_asked_where_lowerings_alone_are_left():
    machine = Machine("C++ optimisation", 1, COUNTED)
    found = search(machine)
    assert found.search.names == ("C++ optimisation",)
    assert [cure.text for cure in found.cures] == ["torch._inductor.config.aot_inductor.debug_compile = True"]
    machine = Machine("fusion", 1, COUNTED)
    search(machine)
    assert not [source for source in machine.asked if "debug_compile" in source]


def test_the_pattern_matcher_is_named_and_not_the_passes_around_it():
    found = search(Machine("pattern matcher", 1, {**COUNTED, "pattern matcher": 1}))
    assert found.search.names == ("pattern matcher",)
    assert found.graphs == {"before.txt": "before.txt", "after.txt": "after.txt"}


class Everywhere(Machine):
    """A pattern that cannot be matched: each of the passes around the matcher tries it, and the first one fails."""

    def run(self, source: str, **how: Any) -> CandidateResult:
        within = set(re.findall(r"\w+_passes", source))
        return result(PASSED if "pattern_matcher = False" in source or len(within) == 3 else BOOM)


def test_a_part_that_several_hold_is_asked_itself_where_each_of_those_alone_changes_nothing():
    found = search(Everywhere("pattern matcher", 1, COUNTED | {"post_grad_passes": 0}, uncounted=("pattern matcher",)))
    assert found.search.names == ("pattern matcher",)
    assert [cure.text for cure in found.cures] == ["torch._inductor.config.pattern_matcher = False"]


def test_where_lowerings_do_not_matter_no_kernel_is_built_until_the_end():
    machine = Machine("post_grad_passes", 16, COUNTED)
    search(machine)
    whole = [source for source in machine.asked[1:] if "'lowerings'" not in source]
    assert len(whole) == 2, "the two runs that confirm it"


def test_what_is_never_applied_is_not_asked():
    rows = {row.subsystem: row for row in search(Machine("lowerings", 1, {"lowerings": 1})).search.rows}
    assert (rows["fusion"].outcome, rows["fusion"].note) == ("not_run", "it is not applied here")


BEFORE_2_6 = (
    "pre_grad_passes", "joint_graph_passes", "post_grad_passes", "decomposition", "lowerings", "vectorisation",
)  # fmt: skip


def test_what_this_torch_cannot_count_is_not_said_to_be_unused():
    """Nothing is left out because it lies in a part that was never asked about."""
    machine = Machine("pattern matcher", 2, {"pattern matcher": 2, "fusion": 1}, uncounted=BEFORE_2_6)
    search_ = search(machine).search
    assert (search_.names, search_.application) == (("pattern matcher",), 2)
    notes = {row.subsystem: row.note for row in search_.rows}
    assert {notes[part] for part in BEFORE_2_6[:3]} == {"this torch does not say how often it is applied"}


def test_where_lowerings_cannot_be_stopped_dear_options_are_asked_of_what_nothing_else_explains():
    found = search(Machine("vectorisation", 1, {"fusion": 1}, uncounted=BEFORE_2_6))
    assert (found.search.names, found.search.application) == (("vectorisation",), None)
    assert [cure.text for cure in found.cures] == ["torch._inductor.config.cpp.simdlen = 1"]


def test_another_failure_says_nothing():
    search_ = search(Machine("fusion", 2, COUNTED, breaks="lowerings")).search
    assert search_.names == ("fusion",) and search_.application == 2
    assert {row.subsystem: row.outcome for row in search_.rows}["lowerings"] == "other_failure"


def test_without_the_counts_the_options_still_tell():
    search_ = search(Machine("fusion", 2, COUNTED, tells=False)).search
    assert (search_.names, search_.application) == (("fusion",), None)
    notes = {row.subsystem: row.note for row in search_.rows}
    assert notes["lowerings"] == "this torch does not say how often it is applied"


def test_what_the_budget_did_not_reach_says_so():
    search_ = search(Machine("fusion", 2, COUNTED), Questions(3)).search
    assert search_.application is None and any(row.note == "there was no time left for it" for row in search_.rows)


def test_of_a_failure_above_inductor_only_what_is_above_it_is_asked():
    assert {switch.part for switch in switches_for("aot_eager_decomp_partition")} == {
        "decomposition",
        "casts of the backward pass",
        "common subexpressions",
    }
    assert [switch.part for switch in switches_for("aot_eager")] == [
        "py_impl decomposition",
        "casts of the backward pass",
    ]
    assert switches_for("eager") == ()


def test_why_a_setting_is_not_asked():
    (matcher,) = [switch for switch in SWITCHES if switch.part == "pattern matcher"]
    assert why_not(matcher, SOURCE, {}) == "this torch has no such setting"
    assert why_not(matcher, SOURCE, {matcher.name: "False"}) == "it is so already"
    assert why_not(matcher, "import torch._inductor.pattern_matcher", {matcher.name: "True"}) is None
    for text in ("torch._inductor.config.pattern_matcher = True", "options={'pattern_matcher': True}"):
        assert why_not(matcher, text, {matcher.name: "True"}) == "the reproducer sets it itself"


@pytest.mark.parametrize(
    ("mode", "other"), [("reduce-overhead", "default"), ("max-autotune", "max-autotune-no-cudagraphs")]
)
def test_what_a_mode_sets_is_switched_off_by_another_mode(mode, other):
    (graphs,) = [switch for switch in SWITCHES if switch.part == "cudagraphs"]
    text = f"import torch\ng = torch.compile(f, mode='{mode}')\ng(torch.randn(2, device='cuda'))\n"
    assert why_not(graphs, text, {graphs.name: "False"}) is None
    assert with_switch(text, graphs) == text.replace(f"'{mode}'", f"'{other}'")
    assert text_for(graphs, text) == f'mode="{other}"'
    both = f"{text}h = torch.compile(f, mode='reduce-overhead')\nk = torch.compile(f, mode='max-autotune')\n"
    assert with_switch(both, graphs).endswith(
        "mode='default')\nk = torch.compile(f, mode='max-autotune-no-cudagraphs')\n"
    )
    for plain in (text.replace(mode, "max-autotune-no-cudagraphs"), text.replace(f", mode='{mode}'", "")):
        assert mode_of(graphs, plain) is None and text_for(graphs, plain) == graphs.text
        assert why_not(graphs, plain, {graphs.name: "False"}) == "it is so already"


def test_a_setting_that_a_mode_overrides_is_no_workaround():
    class Graphed(Machine):
        def run(self, source: str, **how: Any) -> CandidateResult:
            self.asked.append(source)
            return result(BOOM if "reduce-overhead" in source else PASSED)

    text = 'import torch\ng = torch.compile(f, mode="reduce-overhead")\ng(torch.randn(2, device="cuda"))\n'
    found = search(Graphed("cudagraphs", 1, COUNTED), source=text)
    assert found.search.names == ("cudagraphs",) and found.cures == ()
    assert [row.setting for row in found.rows if row.outcome == "ok"] == ['mode="default"']


def test_what_is_only_on_one_device_is_asked_there():
    on = {
        device: {row.setting for row in search(Machine("fusion", 1, COUNTED), source=text).rows}
        for device, text in (("cpu", SOURCE), ("cuda", f'{SOURCE}g(torch.randn(2, device="cuda"))\n'))
    }
    gpus = {
        "torch._inductor.config.triton.persistent_reductions = False",
        "torch._inductor.config.shape_padding = False",
    }
    assert gpus <= on["cuda"] and not gpus & on["cpu"]
    (optimisation,) = [switch for switch in SWITCHES if switch.part == "C++ optimisation"]
    assert why_not(optimisation, f"{SOURCE}torch.backends.cuda.enable_flash_sdp(False)", None) is None
    assert why_not(optimisation, 'x = torch.randn(2, device="cuda:1")', None) and not why_not(
        optimisation, SOURCE, None
    )


def test_lines_come_after_the_first_imports():
    assert inserted('"""Doc."""\nimport torch\nfrom a import (\n    b,\n)\nx = 1\nimport c\n', "y = 2") == (
        '"""Doc."""\nimport torch\nfrom a import (\n    b,\n)\ny = 2\nx = 1\nimport c\n'
    )
    assert inserted("import torch", "y = 2") == "import torch\ny = 2\n"


@pytest.mark.parametrize("cached", [False, True])
def test_where_the_frame_of_the_question_passes_no_part_is_blamed_but_the_caches_may_be(cached: bool) -> None:
    """It compiles each graph anew, so what a cache hands on wrongly is right there."""

    class Passes(Machine):
        def run(self, source: str, **how: Any) -> CandidateResult:
            self.asked.append(source)
            return result(PASSED if "install(" in source or (cached and "force_disable_caches" in source) else BOOM)

    machine = Passes("fusion", 1, COUNTED)
    found = search_parts(SOURCE, inquiry(machine))
    assert len(machine.asked) == 2
    if not cached:
        assert found is None
        return
    assert found is not None and found.search.names == ("caches",) and found.search.application is None
    assert [cure.text for cure in found.cures] == ["torch._inductor.config.force_disable_caches = True"]


def test_an_operator_is_told_by_its_name_and_not_as_torch_prints_it() -> None:
    line = json.dumps(["decomposition", 1, "<OpOverload(op='aten.nan_to_num', overload='default')>"])
    torn = '["decomposition", 2, "<OpOv'
    assert applications(f"{line}\n{torn}") == {"decomposition": {1: "aten.nan_to_num.default"}}


def test_a_part_that_is_seen_and_never_applied_differs_from_one_that_is_not_seen() -> None:
    assert applications('["fusion", 0, ""]\n["lowerings", 0, ""]\n["lowerings", 1, "x"]') == {
        "fusion": {},
        "lowerings": {1: "x"},
    }


class Slow(Machine):
    """It does not end where one of these words stands in the script."""

    def __init__(self, part: str, *words: str) -> None:
        super().__init__(part, 2, COUNTED)
        self.words = words

    def run(self, source: str, **how: Any) -> CandidateResult:
        ended = super().run(source, **how)
        return late() if any(word in source for word in self.words) else ended


def searched(machine: Machine) -> tuple[Searched, dict[str, SubsystemRow]]:
    found = search(machine)
    return found, {row.subsystem: row for row in found.search.rows}


def test_a_part_without_which_it_does_not_end_is_not_known() -> None:
    found, rows = searched(Slow("fusion", "('lowerings',)"))
    assert (rows["lowerings"].outcome, rows["lowerings"].note) == ("not_run", NOT_KNOWN)
    assert found.search.names == ("fusion",) and found.search.application == 2


def test_a_group_that_does_not_end_is_taken_apart() -> None:
    found, rows = searched(Slow("index propagation", "inplace_buffers = "))
    assert found.search.names == ("index propagation",)
    assert (rows["in-place buffers"].outcome, rows["in-place buffers"].note) == ("not_run", NOT_KNOWN)


def test_where_the_run_that_counts_does_not_end_no_torch_is_blamed_for_it() -> None:
    _, rows = searched(Slow("fusion", "install((), None, None, None)"))
    assert "did not fail the same way" in (rows["lowerings"].note or "")


def test_a_script_that_holds_many_numbers_is_looked_through_once() -> None:
    source = f"import torch\nx = torch.tensor([{'0.25, ' * 6000}])\n"
    began = time.process_time()
    assert None in {why_not(switch, source, None) for switch in SWITCHES}
    assert time.process_time() - began < 2.0  # a pattern that begins anew at each letter takes half a minute
