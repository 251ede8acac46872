"""docs/extending.md is true: each of its diffs is applied to a copy of the package, and what it adds is used there.

No torch: failures are predicates over graphs and texts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
DIFFS = {
    section.split("\n", 1)[0].strip(): found.group(1)
    for section in PAGE.split("\n## ")[1:]
    if (found := re.search(r"```diff\n(.*?)```", section, re.DOTALL))
}
MOST_LINES = 20
IN_ONE_PLACE = (
    "A graph pass",
    "A text pass",
    "A rung",
    "A report format",
    "A part of the compiler",
)  # one table, one new file at most


def changed(diff: str) -> list[str]:
    return [line for line in diff.splitlines() if line[:1] in ("+", "-") and line[:4] not in ("+++ ", "--- ")]


def test_what_the_page_promises():
    assert set(USES) == set(DIFFS)


@pytest.mark.parametrize("name", DIFFS)
def test_a_diff_is_short(name):
    assert 0 < len(changed(DIFFS[name])) <= MOST_LINES
    assert not [line for line in changed(DIFFS[name]) if line.startswith("-")], "nothing is rewritten"


@pytest.mark.parametrize("name", IN_ONE_PLACE)
def test_it_touches_one_table_and_one_new_file_at_most(name):
    before = re.findall(r"^--- (\S+)", DIFFS[name], re.MULTILINE)
    assert len([file for file in before if file != "/dev/null"]) == 1
    assert before.count("/dev/null") <= 1


USES = {
    "A fact that the agent records": """
from triage.probe.notes import agent_notes
assert agent_notes([{"e": "start"}, {"e": "forked"}]).forked and not agent_notes([{"e": "start"}]).forked
""",
    "A cure for a recompilation": """
from triage.explain.cures import cure_for
cure, words = cure_for("L['x'].layout == torch.sparse_coo")
assert (cure.kind, "to_dense" in words) == ("layout", True)
""",
    "A graph pass": """
from dataclasses import replace
from pathlib import Path
from reduce_cases import case, meta, op, tensor
from synthetic import FreeRunner, NoLimit, failure, planted
from triage.judge.oracle import SignatureOracle
from triage.model.graphcase import Context
from triage.model.stage import Stage
from triage.reduce.graph.engine import NativeEngine
from triage.reduce.graph.passes import SIMPLER
from triage.reduce.interface import Problem
from triage.trial.interface import Resources

graph = case([tensor("x", 4)], [op("y", "torch.relu", "%x", out=meta(4))], "y")
loud = replace(graph, context=Context(mode="max-autotune", dynamic=True, fullgraph=True))
(row,) = [row for row in SIMPLER if row.name == "bare"]
(choice,) = row.choices(loud)
assert choice.edits[0].apply(loud).context == Context()

runner = FreeRunner(lambda found: failure("the planted failure"))
problem = Problem(planted(), Stage.INDUCTOR, "inductor", "forward", (loud,), Path(), (), "2.13.0")
found = NativeEngine(render=runner.render).reduce(
    problem, Resources(runner, SignatureOracle(planted()), NoLimit(), lambda kind, **facts: None)
)
assert found.graph.context == Context(), found
""",
    "A text pass": """
from text_helpers import reduced
from triage.reduce.text.passes import TABLE
from triage.reduce.text.code.script import Script

text = 'import torch\\ng = torch.compile(f)\\nassert marker(g), "what it means"\\n'
(row,) = [row for row in TABLE if row.name == "assertions"]
(choice,) = row.propose(Script(text))
assert Script(text).replaced(choice.alternatives[0]).endswith("assert marker(g)\\n")

whole = text.replace("import torch\\n", "import torch\\ndef f(x):\\n    return x\\ndef marker(g):\\n    return g\\n")
small, _ = reduced(whole, lambda found: "assert " in found)
assert "assert" in small and "what it means" not in small, small
""",
    "A rung": """
from doctor_stubs import examined
from triage.culprit.ablation import variants_of_text
from triage.environments.smoke import BACKENDS, problem_of
from triage.locate.ladder import ladder_for
from triage.model.outcome import CompileCall

NEW = "aot_eager_default_partitioner"
rungs, top = ladder_for([CompileCall("inductor")])
assert [rung.name for rung in rungs].index(NEW) == 2 and rungs[top].name == "inductor"
assert ladder_for([CompileCall(NEW, custom_backend=True)])[1] == 2
rows = {row.setting: row for row in variants_of_text("import torch\\ntorch.compile(f)\\n", "inductor")}
assert rows[f'backend="{NEW}"'].rung == NEW
facts = [{"torch": "2.13.0"}, *({"rung": rung} for rung in BACKENDS if rung != NEW)]
assert problem_of(facts, None, False, "") == f"a trivial function died with no word with {NEW}"
assert [check.name for check in examined()].count(NEW) == 1
""",
    "A report format": """
import os
from pathlib import Path
from triage.report.redact import Redactor
from triage.report.store import FILES, render_again
from triage.session.settings import load_settings

assert FILES["brief"] == "brief.txt"
assert load_settings({}, environ={"TRIAGE_FORMAT": "md,brief"}, directory=Path("/")).format == ("md", "brief")
text = render_again(Path(os.environ["GOLDEN"]), "brief", Redactor())
assert text == (
    "Fails without torch.compile too: RuntimeError: one of the variables needed for gradient computation has been modified…"
    " (no reproducer)\\n"
), text
""",
    "A known equivalence": """
from dataclasses import replace
from triage.judge.equivalences import EQUIVALENCES
from triage.judge.likeness import same_failure
from triage.judge.signature import signature_of
from triage.model.outcome import Outcome, RaisedException
from triage.model.stage import OutcomeKind

def failed(kind, text):
    return signature_of(Outcome(OutcomeKind.EXCEPTION, exception=RaisedException(kind, text)))

old = failed("RuntimeError", "HIP error: invalid argument")
new = failed("torch.AcceleratorError", "HIP error: invalid argument")
assert same_failure(old, new) and same_failure(new, old)
assert not same_failure(failed("RuntimeError", "something else"), failed("AcceleratorError", "something else"))
assert EQUIVALENCES[-1].why
""",
    "A setting": """
from pathlib import Path
from triage.cli.app import main
from triage.session.settings import load_settings

def repeats(given, **environ):
    return load_settings(given, environ=environ, directory=Path("/")).repeats

assert (repeats({}), repeats({}, TRIAGE_REPEATS="7"), repeats({"repeats": 9}, TRIAGE_REPEATS="7")) == (3, 7, 9)
main(["run", "--repeats", "-1", "script.py"])
""",
    "A workaround": """
from printer_cases import case, meta, node, tensor
from triage.culprit.ablation import variants_of_graph, variants_of_text

NEW = "options={'max_fusion_size': 1}"
graph = case([tensor("x", 4)], [node("y", "torch.relu", "%x", out=meta(4))], "%y")
for variants in (
    variants_of_graph(graph, None, "inductor"),
    variants_of_text("import torch\\ng = torch.compile(f)\\n", "inductor"),
):
    (row,) = [row for row in variants if row.setting == NEW]
    assert row.change.text == f"torch.compile(..., {NEW})" and "'max_fusion_size': 1" in row.text, row
assert NEW not in [row.setting for row in variants_of_graph(graph, None, "aot_eager")]
""",
    "A part of the compiler": """
from triage.culprit.settings import question_of_torch, switches_for, why_not, with_switch

(row,) = [row for row in switches_for("inductor") if row.part == "scatter fallbacks"]
assert row.name in question_of_torch() and row.change.text == row.text
text = with_switch("import torch\\ng = torch.compile(f)\\n", row)
assert "torch._inductor.config.cpp.fallback_scatter_reduce_sum = False\\ng = " in text, text
assert why_not(row, text, {row.name: "True"}) and not why_not(row, "", {row.name: "True"}) and why_not(row, "", {})
assert row not in switches_for("aot_eager_decomp_partition")
""",
}
# How a use ends that does not end well: (exit status, words on standard error).
ENDS = {"A setting": (2, "it must not be negative")}


@pytest.mark.parametrize("name", DIFFS)
def test_the_diff_applies_and_what_it_adds_works(name, tmp_path):
    copied(tmp_path)
    applied = subprocess.run(
        ["git", "apply", "--verbose", "-"], input=DIFFS[name], cwd=tmp_path, capture_output=True, text=True, env=alone()
    )
    assert applied.returncode == 0, applied.stderr
    env = alone(PYTHONPATH=path(tmp_path), GOLDEN=str(ROOT / "tests" / "golden" / "script_stage"))
    done = subprocess.run([sys.executable, "-c", USES[name]], cwd=tmp_path, env=env, capture_output=True, text=True)
    status, words = ENDS.get(name, (0, ""))
    assert done.returncode == status and words in done.stderr, done.stderr


def copied(place: Path) -> None:
    for folder in ("triage", "templates"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))


def path(place: Path) -> str:
    return os.pathsep.join(map(str, (place, ROOT / "tests" / "support", ROOT / "benchmarks")))


def alone(**more: str) -> dict[str, str]:
    """The environment, in which git sees no repository around the copy."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "TRIAGE_", "PYTHONPATH"))}
    return kept | {"GIT_CEILING_DIRECTORIES": "/", "PYTHONDONTWRITEBYTECODE": "1"} | more
