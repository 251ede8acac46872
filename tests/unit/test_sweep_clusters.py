"""Which failures are one bug, and who is asked what next."""

from dataclasses import replace

import pytest

from triage.judge.signature import FailureSignature
from triage.model.accuracy import Wrongness
from triage.model.stage import OutcomeKind
from triage.model.sweep import Doubt, Fate
from triage.sweep.clusters import Member, clustered, joined
from triage.sweep.facts import Answer, Facts
from triage.sweep.outline import outline_of
from triage.sweep.plan import JobState, Pass, last_passes, members, next_passes
from triage.sweep.same_bug import one_bug, shares

LERP = "torch/_decomp/decompositions.py:lerp"
BUILD = "torch/_inductor/cpp_builder.py:run_compile_cmd"
VIEW = "torch/_subclasses/fake_tensor.py:_dispatch_impl"
ALIASING = "torch/_functorch/_aot_autograd/runtime_wrappers.py:merge_view_inputs"
REFUSED = "torch.compile with aot_autograd does not currently support double backward"
CHECK = "torch/testing/_comparison.py:assert_close"
COUNTING = """
def make():
    log = []
    class Meter:
        def touch(self, x):
            log.append(1)
            return x
    def step(x):
        return Meter().touch(x).sin()
    return step, log
step, log = make()
torch.compile(step)(torch.ones(3))
assert len(log) == 1, log
"""
NOTING = COUNTING.replace("[]", "{}").replace("log.append(1)", "log[x.shape] = 1").replace(".sin()", ".relu() + 1")
STATE = """
class Phase:
    def __init__(self):
        self.even, self.odd = object(), object()
        self.now = self.even
def step(x, state):
    first = state.now is state.even
    state.now = state.odd
    return x.exp() if first else x
def run(step):
    state, x = Phase(), torch.arange(3.0)
    return [step(x, state) for _ in range(2)]
torch.testing.assert_close(run(torch.compile(step)), run(step))
"""


def raised(message: str = "bad operand", frame: str = LERP, kind: str = "TypeError") -> FailureSignature:
    return FailureSignature(OutcomeKind.EXCEPTION, kind, message, (frame,), message)


def wrong(kind: str = "values") -> FailureSignature:
    return FailureSignature(OutcomeKind.WRONG_RESULT, "WrongResult", "", (), "", wrong=Wrongness(kind, "output 0"))


def fails(signature: FailureSignature, op: str | None = "aten.lerp.Scalar", **more: object) -> Facts:
    facts = Facts(Fate.FAILS, True, "decomp_partition", "exception", "forward", signature, signature.message, op=op)
    return replace(facts, **more)


def checked(source: str, message: str = "not close", *frames: str) -> Facts:
    """What only a check of the program's own shows, in a program of which `source` is left."""
    signature = FailureSignature(OutcomeKind.EXCEPTION, "AssertionError", message, frames, message)
    return fails(signature, None, stage="dynamo", outline=outline_of(source))


SCREENED = fails(raised(), None, named="torch.lerp", settled=False, stage="none")


@pytest.mark.parametrize(
    ("left", "right", "doubted"),
    [
        (fails(raised()), fails(raised()), False),
        (fails(raised()), fails(raised(), "aten.lerp_.Tensor"), False),
        (fails(raised(), "aten.lerp"), fails(raised(), "torch.Tensor.lerp"), False),
        (fails(raised("one")), fails(raised("another")), True),  # one line of torch
        (fails(raised()), fails(raised(), "aten.mix.default"), True),  # one function of torch for two operations
        (fails(raised(), None), fails(raised(), None), False),
        (fails(wrong()), fails(wrong()), False),
        (fails(wrong()), fails(wrong("nan")), True),
        (fails(raised(), known_cause="no_compiler"), fails(raised("other"), known_cause="no_compiler"), False),
        (fails(raised(), own="lowering my::op"), fails(raised("other"), own="lowering my::op"), False),
        (fails(wrong(), "aten.pinverse"), fails(wrong(), "aten.linalg_pinv"), False),  # a second name
        (
            fails(raised("mutated", ALIASING, "AssertionError"), "aten.abs"),
            fails(raised("mutated", ALIASING, "AssertionError"), "aten.add"),
            True,
        ),
        (fails(raised(REFUSED, ALIASING), "aten.pow"), fails(raised(REFUSED, ALIASING), "aten.linear"), True),
        (
            fails(raised("no view", VIEW), "aten.qr", applied="decomposition of aten.add.Tensor"),
            fails(raised("no view", VIEW), "aten.cholesky", applied="decomposition of aten.add.Tensor"),
            False,
        ),
        (fails(raised("of torch.bool", VIEW), None), fails(raised("of torch.int64", VIEW), None), True),
        (checked(COUNTING, "1 is not 0"), checked(NOTING, "1 is not {}"), True),
        (checked(STATE, "not close", CHECK), checked(STATE.replace("even", "left"), "not close", CHECK), False),
    ],
)
def test_what_is_one_bug(left: Facts, right: Facts, doubted: bool) -> None:
    for join in (one_bug(left, right), one_bug(right, left)):
        assert (join.doubt is not None) is doubted


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (fails(raised()), fails(raised(), stage="inductor")),
        (fails(raised("build failed", BUILD)), fails(raised("build failed", BUILD), "aten.relu.default")),
        (fails(raised("one", "torch/_inductor/ir.py:a")), fails(raised("two", "torch/_inductor/ir.py:b"))),
        (fails(wrong()), fails(wrong(), "aten.relu.default")),
        (
            fails(raised("no view", VIEW), "aten.qr", applied="decomposition of aten.add.Tensor"),
            fails(raised("no view", VIEW), "aten.cholesky", applied="decomposition of aten.mul.Tensor"),
        ),
        (
            fails(raised("no view", VIEW), "aten.qr", applied="decomposition of aten.add.Tensor"),
            fails(raised("no stride", VIEW), "aten.cholesky", applied="decomposition of aten.add.Tensor"),
        ),
        (fails(raised("of torch.bool", VIEW), None), fails(raised("not of torch.int64", VIEW), None)),
        (fails(raised()), fails(raised(), known_cause="no_compiler")),
        (fails(raised(), own="lowering my::op"), fails(raised())),
        (fails(raised(), own="lowering my::op"), fails(raised(), own="lowering my::other")),
        (fails(FailureSignature(OutcomeKind.CRASH, "SIGSEGV", ""), "aten.a"), fails(raised(), "aten.a")),
        (checked(STATE, "not close", CHECK), checked(COUNTING, "not close", CHECK)),
        (checked("", "not close", CHECK), checked("", "not close", CHECK)),  # said of every wrong result
        (fails(raised("no kernel", ALIASING), "aten.abs"), fails(raised("no kernel", ALIASING), "aten.add")),
        (fails(raised(), subsystem="codegen"), fails(wrong(), subsystem="codegen")),  # one does not build, one is wrong
    ],
)
def test_what_is_not(left: Facts, right: Facts) -> None:
    assert one_bug(left, right) is None
    assert one_bug(right, left) is None


def test_a_screened_script_shares_a_failure_only_where_all_that_was_seen_agrees() -> None:
    told = fails(raised())
    assert shares(SCREENED, SCREENED, told)
    assert shares(replace(SCREENED, named="torch.other"), SCREENED, told) is None
    assert shares(replace(SCREENED, signature=raised("else")), SCREENED, told) is None
    assert shares(replace(SCREENED, own="lowering my::op"), SCREENED, told) is None
    assert shares(SCREENED, SCREENED, replace(told, stage="script", fate=Fate.SCRIPT)) is None
    assert (
        shares(SCREENED, SCREENED, replace(told, signature=raised("else"))) is None
    )  # of the script, once it was located
    assert shares(SCREENED, SCREENED, replace(told, settled=False)) is None


def test_an_error_that_names_no_operation_is_shared_only_at_a_line_that_tells() -> None:
    seen = replace(SCREENED, named=None)
    assert shares(seen, seen, fails(raised()))
    build = replace(seen, signature=raised("build failed", BUILD))
    assert shares(build, build, fails(raised("build failed", BUILD))) is None


def test_a_wrong_result_is_never_shared() -> None:
    seen = replace(SCREENED, signature=wrong())
    assert shares(seen, seen, fails(wrong())) is None


def test_clusters_come_by_size_with_known_causes_last_and_say_why() -> None:
    small = fails(raised(), verified=True, reproducer="repro.py", lines=7)
    found = clustered(
        [
            Member("cause.py", fails(raised(), known_cause="no_compiler"), "runs/cause"),
            Member("cause2.py", fails(raised(), known_cause="no_compiler"), "runs/cause2"),
            Member("cause3.py", fails(raised(), known_cause="no_compiler"), "runs/cause3"),
            Member("relu.py", fails(wrong(), "aten.relu.default"), "runs/relu"),
            Member("long.py", replace(small, lines=20), "runs/long"),
            Member("short.py", small, "runs/short"),
            Member("other.py", fails(raised("reworded")), "runs/other"),
            Member("same.py", replace(small, verified=False), "runs/same", "long.py", "fails with the same error"),
        ]
    )
    assert [cluster.members for cluster in found] == [
        ("long.py", "short.py", "other.py", "same.py"),
        ("relu.py",),
        ("cause.py", "cause2.py", "cause3.py"),
    ]
    lerp = found[0]
    assert (lerp.id, lerp.representative, lerp.reproducer, lerp.lines) == ("c1", "runs/short", "runs/short/repro.py", 7)
    assert lerp.doubtful == (Doubt("other.py", "the messages differ"),)
    assert "fails with the same error (1)" in lerp.why
    assert found[1].why == "The only script with this failure."


def scripts(**facts: Facts | None) -> list[JobState]:
    """Screened scripts, by name."""
    return [
        JobState(name, place, f"runs/{name}", {"screen": Answer(5, float(place), known)})
        for place, (name, known) in enumerate(facts.items())
    ]


def answered(known: list[JobState], name: str, which: Pass, facts: Facts) -> list[JobState]:
    return [
        replace(each, answers={**each.answers, which.value: Answer(0, 9.0, facts)}) if each.name == name else each
        for each in known
    ]


def asked(known: list[JobState]) -> list[tuple[str, Pass]]:
    return [(script.name, which) for script, which in next_passes(known)]


def test_everything_is_screened_first() -> None:
    known = [JobState(name, place, "", {}) for place, name in enumerate("ab")]
    assert asked(known) == [("a", Pass.SCREEN), ("b", Pass.SCREEN)]
    assert asked([replace(known[0], running=Pass.SCREEN), known[1]]) == [("b", Pass.SCREEN)]


def test_one_of_each_failure_is_asked_all_and_the_others_wait_for_it() -> None:
    passes = Facts(Fate.PASSES, True, "none", "none")
    known = scripts(fine=passes, one=SCREENED, two=SCREENED, alone=replace(SCREENED, signature=wrong()), broken=None)
    assert asked(known) == [("one", Pass.WHOLE), ("alone", Pass.WHOLE)]
    running = [replace(each, running=Pass.WHOLE) if each.name in ("one", "alone") else each for each in known]
    assert asked(running) == []
    known = answered(known, "one", Pass.WHOLE, fails(raised(), verified=True, lines=7))
    known = answered(known, "alone", Pass.WHOLE, fails(wrong(), "aten.relu.default"))
    assert asked(known) == []
    found = members(known)
    assert [(member.script, member.inherited, member.facts.stage) for member in found] == [
        ("one", None, "decomp_partition"),
        ("two", "one", "decomp_partition"),
        ("alone", None, "decomp_partition"),
    ]
    assert [cluster.members for cluster in clustered(found)] == [("one", "two"), ("alone",)]
    assert last_passes(known, joined(found)) == []


def test_whose_failure_turns_out_another_is_asked_for_itself() -> None:
    known = scripts(one=SCREENED, two=SCREENED)
    known = answered(known, "one", Pass.WHOLE, fails(raised(), stage="script", fate=Fate.SCRIPT))
    assert asked(known) == [("two", Pass.REPRODUCER)]


@pytest.mark.parametrize(
    ("elsewhere", "waits"),
    [
        (raised(REFUSED, "pool.py:gather"), True),
        (raised("another message", "pool.py:gather"), False),
        (FailureSignature(OutcomeKind.EXCEPTION, "AssertionError", REFUSED, ("pool.py:gather",), ""), False),
    ],
)
def test_what_fails_elsewhere_in_the_same_words_is_reduced_once_these_are_told_about(
    elsewhere: FailureSignature, waits: bool
) -> None:
    known = scripts(one=replace(SCREENED, signature=raised(REFUSED)), two=replace(SCREENED, signature=elsewhere))
    assert asked(known) == [("one", Pass.WHOLE)] + [("two", Pass.WHOLE)] * (not waits)
    running = [replace(known[0], running=Pass.WHOLE), known[1]]
    assert asked(running) == [("two", Pass.WHOLE)] * (not waits)
    known = answered(known, "one", Pass.WHOLE, fails(raised(REFUSED), verified=True, lines=7))
    assert asked(known) == [("two", Pass.REPRODUCER if waits else Pass.WHOLE)]


def test_a_cluster_in_which_nobody_was_asked_all_gets_it_for_its_smallest() -> None:
    known = scripts(one=replace(SCREENED, signature=wrong()), two=replace(SCREENED, signature=wrong()))
    known = answered(known, "one", Pass.WHOLE, fails(wrong(), "aten.relu"))
    assert asked(known) == [("two", Pass.REPRODUCER)]
    same = answered(known, "two", Pass.REPRODUCER, fails(wrong(), "aten.relu"))
    assert last_passes(same, joined(members(same))) == []
    other = answered(known, "two", Pass.REPRODUCER, fails(wrong(), "aten.sum"))
    assert [(script.name, which) for script, which in last_passes(other, joined(members(other)))] == [
        ("two", Pass.WHOLE)
    ]


def test_what_passes_and_is_said_to_fail_is_asked_more_than_once() -> None:
    passes = Facts(Fate.PASSES, True, "none", "none")
    known = [replace(each, doubted=each.name != "fine") for each in scripts(fine=passes, lucky=passes, mended=passes)]
    assert asked(known) == [("lucky", Pass.WHOLE), ("mended", Pass.WHOLE)]
    known = answered(known, "mended", Pass.WHOLE, passes)
    known = answered(known, "lucky", Pass.WHOLE, fails(raised(), None, fate=Fate.FLAKY))
    assert asked(known) == []
    assert [(member.script, member.facts.fate) for member in members(known)] == [("lucky", Fate.FLAKY)]


def test_two_that_fail_after_all_are_told_each_by_its_own_runs() -> None:
    passes = Facts(Fate.PASSES, True, "none", "none")
    known = [replace(each, doubted=True) for each in scripts(one=passes, two=passes)]
    known = answered(known, "one", Pass.WHOLE, fails(raised(), None, fate=Fate.FLAKY))
    known = answered(known, "two", Pass.WHOLE, fails(wrong(), None, fate=Fate.FLAKY))
    assert asked(known) == []
    assert [cluster.members for cluster in clustered(members(known))] == [("one",), ("two",)]


def test_an_assertion_of_aotautograd_is_shared_by_whoever_meets_it() -> None:
    seen = fails(raised("mutated", ALIASING, "AssertionError"), None, settled=False, stage="none")
    assert shares(seen, seen, fails(raised("mutated", ALIASING, "AssertionError"), "aten.abs", stage="aot_autograd"))
    other = fails(raised("no kernel", ALIASING), None, settled=False, stage="none")
    assert shares(other, other, fails(raised("no kernel", ALIASING), "aten.abs", stage="aot_autograd")) is None


def test_what_is_no_program_has_no_outline() -> None:
    assert outline_of("def (") == ()
    assert outline_of("x\0") == ()
    assert outline_of("import torch\nx = len(y)") == ("Assign", "Name", "Call", "len", "Name")
