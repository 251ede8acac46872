"""The stopwatch for whole runs: what it reads from a journal, its tables, its picture. Nothing is compiled here."""

import ast
import os
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest
from stopwatch import tree_cpu
from timeline import WIDTH, Span, cpu_at, lanes, milestones, spans, steps, svg, ticks
from whole_run import SCRIPTS, STAGES, cold, table, watch

SVG = "{http://www.w3.org/2000/svg}"
BEGAN = 1000.0
SAMPLES = [(0.0, 0.0), (10.0, 15.0), (20.0, 20.0)]


def event(now: float, kind: str, **facts: object) -> dict[str, object]:
    return {"t": BEGAN + now, "kind": kind, **facts}


JOURNAL = [
    event(1, "run_started"),
    event(1, "step_started", step="script"),
    event(1, "probe_started", name="as_is"),
    event(4, "probe_facts", probe={"name": "as_is"}),
    event(4, "probe_ended", name="as_is"),
    event(5, "step_ended", step="script"),
    event(5, "step_started", step="locate"),
    event(5, "probe_started", name="eager"),
    event(6, "probe_started", name="aot_eager"),
    event(7, "probe_cancelled", name="aot_eager"),
    event(8, "probe_ended", name="eager"),
    event(8, "step_ended", step="locate"),
    event(9, "located", stage="inductor", settled=True),
    event(9, "step_started", step="reduce"),
    event(11, "query", seconds=2.0),
    event(11, "query", seconds=1.0),
    event(12, "verify_started", runs=3),
    event(13, "verify_ended", runs=3, same=2),
    event(13, "verify_started", runs=3),
    event(16, "verify_ended", runs=3, same=3),
    event(16, "step_ended", step="reduce"),
    event(17, "report_written"),
    event(18, "run_ended"),
]


def test_a_reproducer_counts_once_it_failed_each_time_it_was_to():
    assert milestones(JOURNAL, BEGAN) == {"located": 9.0, "verified": 16.0, "reported": 17.0}


def test_what_was_not_reached_has_no_time():
    unsettled = [event(9, "located", stage="none", settled=False)]
    assert milestones(unsettled, BEGAN) == {"located": None, "verified": None, "reported": None}
    fewer = [event(1, "verify_started", runs=3), event(2, "verify_ended", runs=2, same=2)]
    assert milestones(fewer, BEGAN)["verified"] is None


def test_steps_add_up_to_the_whole_and_verifying_counts_by_itself():
    found = steps(JOURNAL, BEGAN, SAMPLES)
    walls = {name: wall for name, (wall, _) in found.items()}
    assert walls == {"start": 1.0, "script": 4.0, "locate": 3.0, "rest": 3.0, "reduce": 3.0, "verify": 4.0, "end": 2.0}
    assert sum(cpu for _, cpu in found.values()) == pytest.approx(20.0)
    assert found["script"][1] == pytest.approx(6.0)


def test_a_run_without_a_journal_is_all_start():
    assert steps([], BEGAN, SAMPLES) == {"start": (20.0, 20.0)}


def test_a_sample_that_is_too_small_takes_nothing_away():
    assert [cpu_at(now, [(0.0, 0.0), (1.0, 4.0), (2.0, 3.0), (4.0, 6.0)]) for now in (0.5, 1.5, 3.0, 9.0)] == [
        2,
        4,
        5,
        6,
    ]


def test_spans_begin_and_end_as_the_journal_says():
    found = {span.row: span for span in spans(JOURNAL, BEGAN, 20.0)}
    assert (found["as_is"].begin, found["as_is"].end) == (1.0, 4.0)
    assert (found["aot_eager"].begin, found["aot_eager"].end) == (6.0, 7.0)
    assert [span.end for span in spans(JOURNAL, BEGAN, 20.0) if span.kind == "verify"] == [13.0, 16.0]


def test_what_never_ended_lasts_until_the_end():
    assert spans(JOURNAL[:3], BEGAN, 20.0)[-1] == Span("as_is", "probe", 1.0, 20.0)


def test_what_overlaps_gets_a_line_of_its_own():
    drawn = lanes([span for span in spans(JOURNAL, BEGAN, 20.0) if span.kind in ("candidates", "verify")])
    assert [(name, len(line)) for name, line in drawn] == [("candidates", 1), ("", 1), ("verify", 2)]


def test_the_picture_has_every_row_and_mark_and_stays_within_its_width():
    picture = svg("<t>", spans(JOURNAL, BEGAN, 20.0), {"verified": 16.0, "report": None}, 6.0, SAMPLES, 2)
    root = ElementTree.fromstring(picture)
    said = [one.text for one in root.iter(f"{SVG}text")]
    assert {"<t>", "script by itself", "as_is", "candidates", "verify", "verified 16 s", "cores busy, of 2"} <= set(
        said
    )
    assert all(float(one.get("x", 0)) + float(one.get("width")) <= WIDTH for one in root.iter(f"{SVG}rect"))


def test_ticks_are_few_and_round():
    assert ticks(9.5) == [float(number) for number in range(10)]
    assert ticks(186)[:3] == [0.0, 20.0, 40.0]
    assert len(ticks(100_000)) <= 2


RESULT = {
    "kind": "quick", "cores": 2, "load": 0.1, "alone": 3.0, "alone_cpu": 4.0, "located": 6.0, "verified": 9.0,
    "reported": 12.0, "ended": 15.0, "cpu": 20.0, "as_expected": True, "steps": {"script": (4.0, 5.0)},
}  # fmt: skip


def test_the_table_has_medians_and_ratios_to_the_scripts_own_time():
    text = table([RESULT, {**RESULT, "alone": 4.0, "located": 10.0}, {**RESULT, "alone": 2.0}])
    assert "| quick | 2 | 3 | 3.0 (2.0 to 4.0) | 4.0 (4.0 to 4.0) | 6.0 (6.0 to 10.0) | 2.5 (2.0 to 3.0) |" in text
    assert "| 3 of 3 |" in text
    assert "| quick | 2 | 4.0 / 5.0 |" in text


def test_a_run_that_did_not_get_there_is_told():
    text = table([RESULT, {**RESULT, "verified": None, "as_expected": False, "steps": {}}])
    assert "9.0 (1 of 2) | 3.0 (1 of 2)" in text
    assert "| 1 of 2 |" in text
    assert " - | - |" in table([{**RESULT, "verified": None}])


def test_nothing_of_the_callers_caches_or_settings_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIAGE_JOBS", "7")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/warm")
    first, second = cold(tmp_path), cold(tmp_path)
    assert "TRIAGE_JOBS" not in first
    for name in ("TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR"):
        assert first[name].startswith(str(tmp_path))
        assert first[name] != second[name]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_processor_time_of_a_living_tree_grows():
    busy = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    process = subprocess.Popen([sys.executable, "-c", busy], start_new_session=True)
    try:
        for _ in range(600):
            if tree_cpu(process.pid) > 0.3:
                break
            time.sleep(0.05)
        assert tree_cpu(process.pid) > 0.3
    finally:
        os.killpg(process.pid, 9)
        process.wait()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="binds to cores")
def test_a_process_is_watched_on_its_cores_until_its_limit(tmp_path):
    cores = sorted(os.sched_getaffinity(0))[:1]
    code = "import os; print(sorted(os.sched_getaffinity(0))); raise SystemExit(3)"
    seen = watch([sys.executable, "-c", code], tmp_path, cores, tmp_path / "log", 60)
    assert (seen.status, (tmp_path / "log").read_text().strip()) == (3, str(cores))
    assert seen.samples[-1] == (seen.seconds, seen.cpu)
    late = watch([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, cores, tmp_path / "log", 0.5)
    assert late.status is None
    assert late.seconds < 30


def test_every_kind_has_its_script():
    assert {path.stem for path in SCRIPTS.glob("*.py")} == set(STAGES)


def test_one_of_thirty_functions_is_guilty_and_it_is_the_24th():
    tree = ast.parse((SCRIPTS / "many_functions.py").read_text())
    assigned = {ast.unparse(each.targets[0]): each.value for each in tree.body if isinstance(each, ast.Assign)}
    features = assigned["FEATURES"].elts
    assert [number for number, each in enumerate(features, 1) if "relu" in ast.unparse(each)] == [24]
    assert len(features) == 30
