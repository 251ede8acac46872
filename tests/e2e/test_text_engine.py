"""The source engine on real failing programs: one probe, then the reduction, then a fresh process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from reduced_text import PYTHON, reduced

from triage.model.outcome import Outcome
from triage.model.stage import OutcomeKind, Stage
from triage.reduce.printing.printer import code_lines
from triage.reduce.text.checks.runners import PairedRunner, RoutingRunner
from triage.session.session import neutral_store
from triage.sweep.outline import alike, outline_of
from triage.trial.fresh import Fresh, verify
from triage.trial.runner import ForkServerRunner

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

REPRODUCERS = Path(__file__).parents[2] / "reproducers"


@pytest.fixture(scope="module")
def runner() -> Iterator[ForkServerRunner]:
    made = ForkServerRunner(PYTHON, jobs=2, neutral=neutral_store())
    yield made
    made.close()


def test_a_training_program_in_four_files_ends_in_a_few_lines(tmp_path: Path, runner: ForkServerRunner) -> None:
    place = tmp_path / "program"
    shutil.copytree(REPRODUCERS / "dynamo_training_program", place)
    before = sorted(place.rglob("*"))
    ended = reduced(place, tmp_path / "out", runner, "--config", "small.json", "--epochs", "1")
    assert code_lines(ended.source) < 15
    assert ended.imports <= {"os", "torch", "zlib"}
    assert sorted(path for path in place.rglob("*") if "__pycache__" not in path.parts) == before


def test_a_failure_on_the_second_call_keeps_two_calls(tmp_path: Path, runner: ForkServerRunner) -> None:
    place = tmp_path / "program"
    shutil.copytree(REPRODUCERS / "dynamo_cov_second_batch", place)
    ended = reduced(place, tmp_path / "out", runner)
    assert ended.fresh.notes.point.calls == 2
    assert code_lines(ended.source) < 15
    once = reduced(place, tmp_path / "once", runner, operation_only=True)  # where it only is to be told from others
    assert once.found.enough and once.found.queries < ended.found.queries
    assert alike(outline_of(once.source), outline_of(ended.source))


PACKAGE = {
    "__init__.py": "from .modeling import Net\nfrom .settings import Settings\n",
    "settings.py": "class Settings:\n    def __init__(self, width=4, **rest):\n        self.width, self.rest = width, rest\n",
    "modeling.py": (
        "import torch\nfrom torch import nn\nfrom .settings import Settings\n\n\n"
        "class Base(nn.Module):\n    settings_class = Settings\n\n"
        "    def __init__(self, settings):\n        super().__init__()\n        self.settings = settings\n\n\n"
        "class Gate(Base):\n    def __init__(self, settings, number=0):\n        super().__init__(settings)\n"
        "        self.lin = nn.Linear(settings.width, settings.width)\n        self.number = number\n"
        "        self.key = b'abc'\n\n"
        "    def forward(self, x, scale=None):\n        h = self.lin(x)\n        if scale is not None:\n"
        "            h = h * scale\n        first = memoryview(self.key)[self.number]\n        return h * (first % 2)\n\n\n"
        "class Net(Base):\n    def __init__(self, settings):\n        super().__init__(settings)\n"
        "        self.gates = nn.ModuleList([Gate(settings, n) for n in range(2)])\n\n"
        "    def forward(self, x):\n        for gate in self.gates:\n            x = x + gate(x, scale=2.0)\n        return x\n"
    ),
}
PACKAGE_SCRIPT = (
    "import torch\nfrom gatenet import Net, Settings\n\ntorch.manual_seed(0)\nnet = Net(Settings(width=8, name='x'))\n"
    "x = torch.randn(2, 8)\nprint(net(x).sum())\nprint(torch.compile(net, fullgraph=True)(x).sum())\n"
)


def test_a_failure_inside_an_installed_package_needs_it_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "venv" / "site-packages"
    (site / "gatenet").mkdir(parents=True)
    for name, text in PACKAGE.items():
        (site / "gatenet" / name).write_text(text)
    place = tmp_path / "program"
    place.mkdir()
    (place / "script.py").write_text(PACKAGE_SCRIPT)
    monkeypatch.setenv("PYTHONPATH", str(site))
    runner = ForkServerRunner(PYTHON, jobs=2, neutral=neutral_store())  # its interpreter must find the package
    try:
        ended = reduced(place, tmp_path / "out", runner)
    finally:
        runner.close()
    assert ended.imports <= {"os", "torch"}
    assert code_lines(ended.source) < 15


OWN_CHECK = """
import csv
import sys
from pathlib import Path

import torch
from counting import Counter

turns = int(sys.argv[1])
with open(Path(__file__).parent / "rows.csv") as file:
    rows = [[float(cell) for cell in row] for row in csv.reader(file)]
OUTSIDE.write_text("kept")


def make():
    counter = Counter()
    seen = {"n": 0}

    class Meter:
        def touch(self, x):
            seen["n"] += 1
            return x * len(rows)

    def step(x):
        counter.add(1)
        return Meter().touch(x) + 1

    return step, seen


x = torch.tensor(rows)
plain, expected = make()
for _ in range(turns):
    plain(x)
step, found = make()
step = torch.compile(step)
for _ in range(turns):
    step(x)
assert expected == found, "the side effect is lost"
"""


def test_a_check_of_the_program_itself_with_its_files_and_arguments(tmp_path: Path, runner: ForkServerRunner) -> None:
    place = tmp_path / "program"
    place.mkdir()
    outside = tmp_path / "outside.txt"
    guarded = f"OUTSIDE = Path({str(outside)!r})\nif OUTSIDE.parent.name == 'never':\n    "
    (place / "script.py").write_text(OWN_CHECK.replace("OUTSIDE.", guarded + "OUTSIDE.", 1))
    (place / "counting.py").write_text(
        "class Counter:\n    total = 0\n\n    def add(self, n):\n        self.total = self.total + n\n"
    )
    (place / "rows.csv").write_text("1,2\n3,4\n")
    ended = reduced(place, tmp_path / "out", runner, "3")
    assert code_lines(ended.source) < 20
    assert ended.imports <= {"os", "torch"}
    assert not outside.exists()


NEEDS_A_WORD = """
import json

import torch

with open("plan.json") as file:
    plan = json.load(file)
large = sum(map(ord, plan["kind"])) == sum(map(ord, "uncommon"))


def make():
    seen = {"n": 0}

    class Meter:
        def touch(self, x):
            seen["n"] += large
            return x * 2

    def step(x):
        return Meter().touch(x) + 1

    return step, seen


plain, expected = make()
step, found = make()
compiled = torch.compile(step)
for _ in range(plan["turns"]):
    plain(torch.ones(3))
    compiled(torch.ones(3))
assert expected == found, "the side effect is lost"
"""


def test_a_word_of_the_data_that_the_failure_needs_is_not_in_what_is_left(
    tmp_path: Path, runner: ForkServerRunner
) -> None:
    place = tmp_path / "program"
    place.mkdir()
    (place / "script.py").write_text(NEEDS_A_WORD)
    plan = '{"kind": "nommocnu", "turns": 2, "customer": "Bartholomew Ngata", "city": "Rotorua"}'
    (place / "plan.json").write_text(plan)
    found = reduced(place, tmp_path / "out", runner).found
    told = " ".join((found.source, *found.notes, *(met.source for met in found.siblings)))
    told += " ".join(larger.source for larger in found.larger)
    assert not any(word in told for word in ("nommocnu", "Bartholomew", "Ngata", "Rotorua"))
    # Where there was time enough, nothing of the file is read any more.
    assert (found.needs, found.private is None) in (((), True), (("plan.json",), False))


@pytest.mark.parametrize("import_of_own_process", ["", "import multiprocessing\n"])
def test_a_candidate_writes_in_its_own_directory_only(
    import_of_own_process: str, tmp_path: Path, runner: ForkServerRunner
) -> None:
    routed = RoutingRunner(runner, PYTHON, neutral_store())
    try:
        head = f"{import_of_own_process}import os, torch, tempfile\nopen('here.txt', 'w').write('x')\n"
        head += "assert os.path.exists('here.txt')\ntorch.save(torch.ones(2), 'here.pt')\ntempfile.mkdtemp()\n"
        assert routed.run(head).outcome.kind is OutcomeKind.OK
        for number, text in enumerate(
            ["open({!r}, 'w')", "torch.save(torch.ones(2), {!r})", "os.mkdir({!r})", "os.rename('here.txt', {!r})"]
        ):
            goal = tmp_path / f"goal{number}"
            refused: Outcome = routed.run(head + text.format(str(goal)) + "\n").outcome
            assert "may not write outside" in refused.exception.message
            assert not goal.exists()
    finally:
        routed.close()


OPERATOR = """
import torch

lib = torch.library.Library("mine", "DEF")
lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", lambda x: KERNEL, "CPU")


@torch.library.register_fake("mine::twice")
def _(x):
    return FAKE


def f(x):
    memoryview(b"a")
    return torch.ops.mine.twice(x)


f(torch.ones(3))
torch.compile(f, fullgraph=True, backend="eager")(torch.ones(3))
"""
CHECKED = """
import asyncio
import torch


async def wait():
    pass


def f(x):
    BODY
    memoryview(b"a")


f(1)
torch.compile(f, fullgraph=True, backend="eager")(1)
"""


def test_a_candidate_keeps_its_operators_contract_warns_of_nothing_and_leaves_nothing(runner: ForkServerRunner) -> None:
    def operator(kernel: str = "x * 2", fake: str = "torch.empty_like(x)") -> str:
        return OPERATOR.replace("KERNEL", kernel).replace("FAKE", fake)

    wanted = runner.run(operator()).signature
    assert wanted is not None

    def flaws(*sources: str) -> list[str]:
        paired = PairedRunner(runner, wanted)
        found = [paired.run(source).outcome for source in sources]
        return [outcome.detail if outcome.kind is OutcomeKind.INVALID else "" for outcome in found]

    assert [bool(flaw) for flaw in flaws(operator(), operator("torch.sin(x)"))] == [False, False]
    for broken in (operator("x"), operator("None"), operator(fake="x.new_empty(7)")):
        assert "breaks its contract" in flaws(operator(), broken)[1]
        assert flaws(broken, broken) == ["", ""]  # the program's own may
    plain = CHECKED.replace("BODY", "pass")
    assert "warns: RuntimeWarning" in flaws(plain, CHECKED.replace("BODY", "wait()"))[1]
    assert "leaves log.txt" in flaws(plain, f"open('log.txt', 'w').close()\n{plain}")[1]


REFUSING = """\
import torch


def backend(gm, example_inputs):
    for node in gm.graph.nodes:
        if node.op == "call_function" and "relu" in str(node.target):
            raise RuntimeError("cannot run relu")
    return gm.forward


@torch.compile(backend=backend)
def model(x):
    y = torch.sin(x)
    return torch.relu(y) + 1


print(model(torch.randn(4, 4)).sum())
"""


def test_a_backend_that_refuses_an_operation_still_meets_it(tmp_path: Path, runner: ForkServerRunner) -> None:
    place = tmp_path / "program"
    place.mkdir()
    (place / "script.py").write_text(REFUSING)
    ended = reduced(place, tmp_path / "out", runner, stage=Stage.BACKEND)
    assert "torch.relu(" in ended.source
    (other,) = verify(ended.source.replace("torch.relu(", "torch.sin("), PYTHON, Fresh(neutral=neutral_store()), runs=1)
    assert other.outcome.kind is OutcomeKind.OK, ended.source  # what it raises hangs on the operation
    assert code_lines(ended.source) < 15


UNCLOSED = """
import argparse
import torch

def batches(x, seen):
    try:
        for row in x:
            yield row
    finally:
        seen.append(1)

class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = torch.nn.Linear(width, width)

    def forward(self, x):
        seen = []
        for row in batches(x, seen):
            break
        return self.lin(x) + len(seen)

def train(net, step, x):
    total = 0.0
    for _ in range(2):
        total += float(step(x).sum())
    return total

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    net, x = Net(args.width), torch.randn(3, args.width)
    plain, fast = train(net, net, x), train(net, torch.compile(net), x)
    assert abs(plain - fast) < 1e-3, f"{plain} eager, {fast} compiled"
"""


def test_where_dynamo_makes_a_check_fail_one_call_is_compared(tmp_path: Path, runner: ForkServerRunner) -> None:
    """Of the training, its arguments and its check nothing is left: a generator that was left early is not closed."""
    place = tmp_path / "program"
    place.mkdir()
    (place / "script.py").write_text(UNCLOSED)
    ended = reduced(place, tmp_path / "out", runner, compared=True)
    assert "assert_close" in ended.source and "argparse" not in ended.source and "train" not in ended.source
    assert code_lines(ended.source) < 20
