"""The benchmark's own parts: what it reads from PyTorch's minifier, its table, its plot. Nothing is compiled here."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bars import LEFT, Bar, Chart, Group, decades, position, svg
from measured import NATIVE, TORCH, Contest, Measured, table
from minify import cases_in, plot
from stopwatch import Stopwatch
from torch_minifier import Queries, operations, queries

SVG = "{http://www.w3.org/2000/svg}"

# As torch 2.13 writes it (torch/_functorch/fx_minifier.py); an isolated query's own output is indented with ">>  ".
ENDED = """
>>  Made 99 queries
Started off with 30 nodes
Trying granularity 16

Strategy: Truncate suffix (G: 16) (30 nodes, 4 inputs)
SUCCESS: Went from 30 to 18 nodes

Strategy: Delta Debugging (G: 8) (18 nodes, 4 inputs)
FAIL: Delta Debugging
Made 41 queries
Wrote minimal repro out to repro.py
"""
CUT = ENDED.partition("Made 41")[0]


def test_an_ended_minifier_says_how_often_it_asked():
    assert queries(ENDED, isolated=40) == Queries(41)


def test_a_cut_minifier_has_left_a_script_per_isolated_query():
    assert queries(CUT, isolated=17) == Queries(17)


def test_a_cut_minifier_in_one_process_gives_a_lower_bound():
    assert queries(CUT, isolated=0) == Queries(3, exact=False)


def test_a_launcher_that_broke_asked_nothing():
    assert queries("AttributeError: 'Repro' object has no attribute '_tensor_constant0'", 0) == Queries(0, exact=False)


FORWARD = """
class Repro(torch.nn.Module):
    def forward(self, L_x_ : torch.Tensor, arg1_1):
        l_x_ = L_x_
        sym_size_int = torch.ops.aten.sym_size.int(arg1_1, 0)
        _set_grad_enabled = torch._C._set_grad_enabled(False)
        topk = torch.ops.aten.topk.default(arg1_1, 2);  arg1_1 = None
        getitem = topk[0];  topk = None
        part = l_x_[(slice(None, None, None), 0)]
        add = getitem + part
        l_x_[0] = add;  setitem = l_x_
        relu = self.L__self___relu(add)
        return (relu,)
mod = Repro()
"""


def test_operations_are_what_computes():
    assert operations(FORWARD) == 5  # topk, slice, add, setitem, relu


def test_a_script_that_does_not_parse_has_no_count():
    assert operations("def forward(self:\n") is None


OURS = Measured(NATIVE, 5.0, 4.0, queries=12, ops_before=90, ops=1, lines=9, verified=3, runs=3)
THEIRS = Measured(TORCH, 200.0, 150.0, 20.0, queries=40, ops_before=120, ops=15, lines=80, verified=3, runs=3)
DRIFTED = Measured(
    TORCH, 300.0, None, 20.0, queries=7, at_least=True, verified=0, runs=3, timed_out=True, remark="a | b\nc"
)


def test_a_row_per_reducer():
    text = table([Contest("case", "inductor", (OURS, THEIRS))], 300)
    assert "| case | native | yes (3 of 3) | 5.0 | 4.0 | 12 | 90 to 1 | 9 | 0.0 |  |" in text
    assert "| case | PyTorch's minifier | yes (3 of 3) | 200.0 | 150.0 | 40 | 120 to 15 | 80 | 20.0 |  |" in text
    assert "took 40.0 times the seconds" in text
    assert "took 37.5 times the processor seconds" in text


def test_what_could_break_a_table_is_escaped():
    row = next(line for line in table([Contest("case", "inductor", (DRIFTED,))], 300).splitlines() if "300.0" in line)
    assert row.endswith("no (0 of 3) | 300.0 (limit) | - | at least 7 | - | - | 20.0 | a \\| b c |")


def test_no_speed_is_claimed_against_a_wrong_result():
    assert Contest("case", "inductor", (OURS, DRIFTED)).ratios() is None
    assert "times the" not in table([Contest("case", "inductor", (OURS, DRIFTED))], 300)


def test_a_minifier_that_the_limit_ended_gives_a_lower_bound():
    cut = replace(THEIRS, timed_out=True)
    text = table([Contest("case", "inductor", (OURS, cut))], 300)
    assert "took at least 40.0 times the seconds" in text
    assert "1 of 1 verified, 1 of them as the limit left them" in text
    assert Contest("case", "inductor", (replace(OURS, timed_out=True), THEIRS)).ratios() is None


def test_a_flaky_script_is_no_success():
    assert not Measured(NATIVE, 1.0, verified=2, runs=3).success


def test_a_case_without_graph_says_why():
    assert "| case | - | - | - | - | - | - | - | - | stage dynamo |" in table(
        [Contest("case", "dynamo", (), "stage dynamo")], 9
    )


@pytest.mark.parametrize(
    ("values", "ticks"),
    [([], [1, 10]), ([3.0], [1, 10]), ([0.4, 300.0], [0.1, 1, 10, 100, 1000]), ([10.0, 10.0], [10, 100])],
)
def test_the_axis_spans_the_values(values, ticks):
    assert decades(values) == pytest.approx(ticks)


def test_ten_times_as_much_is_one_step_further():
    ticks = [1.0, 10.0, 100.0]
    assert position(100, ticks) - position(10, ticks) == pytest.approx(position(10, ticks) - position(1, ticks))
    assert position(0.2, ticks) == LEFT


def test_a_bar_that_does_not_count_is_hollow():
    chart = Chart(
        "<t>", "s", (("a", "#111111"),), (Group("g & h", (Bar(0, 5.0), Bar(0, 50.0, filled=False), Bar(0, None, "-"))),)
    )
    drawn = [one for one in ElementTree.fromstring(svg(chart)).iter(f"{SVG}rect") if one.get("x") == str(LEFT)]
    assert [one.get("fill") for one in drawn] == ["#111111", "#ffffff"]
    assert float(drawn[0].get("width")) < float(drawn[1].get("width"))


def test_the_plot_names_cases_results_and_the_limit():
    contests = [Contest("first", "inductor", (OURS, DRIFTED)), Contest("second", "dynamo", (), "nothing")]
    said = [one.text for one in ElementTree.fromstring(plot(contests, 300)).iter(f"{SVG}text")]
    assert {"first", "5 s, 1 op", "300 s, no script", "limit 300 s"} <= set(said)
    assert "second" not in said


def test_processor_time_is_that_of_the_children():
    began = time.monotonic()
    with Stopwatch() as watch:
        subprocess.run([sys.executable, "-c", "for _ in range(3_000_000): pass"], check=True)
        watch.lap()
        time.sleep(0.2)
    assert watch.cpu > 0
    assert watch.seconds < time.monotonic() - began - 0.1


def test_only_cases_with_a_graph_are_measured():
    found = cases_in([Path(__file__).parents[2] / "reproducers"], ["multiscale", "dynamo_decimal"])
    assert [case.name for case in found] == ["train_multiscale_buried"]
