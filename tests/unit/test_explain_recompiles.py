"""Which guard failed and what helps: the table of cures, the rows, and what a tried cure showed."""

from pathlib import Path

import pytest

from triage.explain.cures import CURES, DYNAMIC, UNSPEC_INT, cure_for
from triage.explain.recompiles import guard_of, recompilations, trials, tried

CWD = Path("/home/me/work")


def event(guard, *, entries=1, function="forward", line=12, values=None, limit=8):
    return {
        "e": "recompile",
        "function": function,
        "file": str(CWD / "net.py"),
        "line": line,
        "reasons": [f"0/{entries - 1}: {guard}"],
        "values": values or {},
        "entries": entries,
        "limit": limit,
    }


# Guards as torch 2.13 words them, seen in runs; those with L[...] as releases before 2.9 do.
GUARDS = [
    ("tensor 'x' size mismatch at index 0. expected 3, actual 4", "size"),
    ("tensor 'L['x']' size mismatch at index 1. expected 3, actual 4", "size"),
    ("L['x'].size()[0] == 3", "size"),
    ("tensor 'x' stride mismatch at index 0. expected 8, actual 1", "stride"),
    ("tensor 'x' dtype mismatch. expected Float, actual Double", "dtype"),
    ("tensor 'x' rank mismatch. expected 2, actual 3", "rank"),
    ("tensor 'x' requires_grad mismatch. expected requires_grad=0", "requires_grad"),
    ("GLOBAL_STATE changed: grad_mode ", "grad_mode"),
    ("self.steps == 1", "module_attribute"),
    ("L['self'].steps == 1", "module_attribute"),
    ("self.training == True", "training"),
    ("n == 2", "int_argument"),
    ("L['n'] == 2", "int_argument"),
    ("lr == 0.1", "float_argument"),
    ("mode == 'a'", "constant"),
    ("G['scale'] == 2", "global"),
    ("len(xs) == 3", "length"),
    ("not self.seen", "length"),
    ("___check_obj_id(f, 140)", "object"),
    ("___stack0 == 0.17262259125709534", "after_break"),
    ("nothing that anybody has seen", "other"),
]


@pytest.mark.parametrize(("guard", "kind"), GUARDS)
def test_a_guard_has_a_kind_and_words(guard, kind):
    cure, text = cure_for(guard_of(event(guard)))
    assert cure.kind == kind
    assert text and "{" not in text


def test_every_row_of_the_table_is_met():
    met = {kind for _, kind in GUARDS}
    assert {cure.kind for cure in CURES} - met <= {"device", "dispatch_keys", "type", "keys", "alias", "dead_object"}


def test_the_words_name_the_tensor_and_the_dimension():
    _, text = cure_for("tensor 'batch' size mismatch at index 2. expected 3, actual 4")
    assert "mark_dynamic(batch, 2)" in text


def test_one_row_per_function_and_kind_with_values_and_what_is_left():
    size = "tensor 'x' size mismatch at index 0. expected {}, actual {}"
    events = [event(size.format(3 + n, 4 + n), entries=1 + n) for n in range(4)]
    rows = recompilations([*events, event("mode == 'a'", line=40, function="named")], CWD)
    assert [(row.function, row.file, row.line, row.count, row.kind) for row in rows] == [
        ("forward", "net.py", 12, 4, "size"),
        ("named", "net.py", 40, 1, "constant"),
    ]
    assert rows[0].values == ("3", "4", "5", "6", "7")
    assert (rows[0].limit, rows[0].left, rows[0].limit_hit) == (8, 3, False)


def test_a_call_beyond_the_limit_is_no_recompilation():
    rows = recompilations([event("n == 2", entries=entries) for entries in (7, 8, 8)], CWD)
    assert (rows[0].count, rows[0].left, rows[0].limit_hit) == (1, 0, True)


def test_what_the_user_wrote_is_told_apart_from_the_guard():
    guard = (
        "self.steps == 1          # return x * self.steps  # net.py:15 in forward (HINT: ...)\nUser stack trace:\n"
        '  File "/home/me/work/net.py", line 15, in forward\n    return x * self.steps'
    )
    (row,) = recompilations([event(guard, values={"self.steps": "2"})], CWD)
    assert (row.guard, row.used_at) == ("self.steps == 1", "net.py:15: return x * self.steps")
    assert row.values == ("self.steps = 2",)


def test_what_follows_a_break_is_the_function_it_follows():
    (row,) = recompilations([event("___stack0 == 0.5", function="torch_dynamo_resume_in_forward_at_19", line=8)], CWD)
    assert (row.function, row.line) == ("forward", 19)


def test_each_trial_is_run_once():
    rows = recompilations([event("n == 2"), event("L['x'].size()[0] == 3"), event("self.n == 4")], CWD)
    assert trials(rows) == (DYNAMIC, UNSPEC_INT)
    assert trials(recompilations([event("mode == 'a'")], CWD)) == ()


def test_a_cure_works_where_no_such_recompilation_is_left():
    size, other = event("L['x'].size()[0] == 3"), event("mode == 'a'")
    before = recompilations([size, size, other], CWD)
    works = tried(before, DYNAMIC, recompilations([other], CWD), None)
    assert [(row.kind, row.cure_works, row.tried) for row in works] == [
        ("size", True, "dynamic=True"),
        ("constant", None, None),
    ]
    helpless = tried(before, DYNAMIC, before, None)
    assert (helpless[0].cure_works, helpless[0].remaining) == (False, 2)
    failing = tried(before, DYNAMIC, (), "with dynamic=True the run fails: ValueError")
    assert (failing[0].cure_works, failing[0].note) == (False, "with dynamic=True the run fails: ValueError")


@pytest.mark.parametrize(("count", "left", "works"), [(4, 1, True), (4, 2, False), (1, 1, False), (1, 0, True)])
def test_one_recompilation_may_be_left_where_there_were_more(count, left, works):
    rows = recompilations([event("self.n == 4")] * count, CWD)
    (row,) = tried(rows, UNSPEC_INT, recompilations([event("self.n == 4")] * left, CWD), None)
    assert row.cure_works is works
