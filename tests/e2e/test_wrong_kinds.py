"""What the agent says of a compiled graph, with real torch: of which kind it is wrong, that it rounds, that eager is not sure."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from triage.model.accuracy import Comparison
from triage.probe.run import ProbeRequest, run_probe
from triage.probe.target import Target
from triage.session.session import neutral_store

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600), pytest.mark.xdist_group("wrong kinds")]

# Each function is compiled with a backend that is wrong in one way; the order of the graphs is that of the names below.
PROGRAM = """
import sys

import torch


def wrong_in(change):
    def backend(gm, inputs):
        def run(*args):
            out = gm(*args)
            return tuple(change(one, args) for one in out)
        return run
    return backend


def spoilt(value):
    def change(out, args):
        out = out.clone()
        out.view(-1)[0] = value
        return out
    return change


def transposed(out, args):
    return out.t().contiguous().t()


def added_to_input(out, args):
    args[0].add_(1)
    return out


def sample(x):
    return torch.sin(x) * 2


def zeros(x):
    return torch.relu(x) * -1.0


def half(x):
    return torch.logit(x) * 3 - x


def too_short(x, w, b, mean, var):
    return torch.native_batch_norm(x, w, b, mean, var, False, 0.5, 0.6)[0]


def never_written(x):
    return torch.empty(7) * 0.5 + x


torch.manual_seed(0)
X = torch.rand(3, 4) + 0.1
CHANGES = [spoilt(9.0), spoilt(float("nan")), spoilt(float("inf")), lambda out, args: out.double(), transposed,
           lambda out, args: out[:2], added_to_input, lambda out, args: args[0]]
first_half = sys.argv[1] == "first"
for change in CHANGES[:5] if first_half else CHANGES[5:]:
    torch._dynamo.reset()
    torch.compile(sample, backend=wrong_in(change))(X.clone())
if first_half:
    sys.exit()
torch._dynamo.reset()
torch.compile(zeros, backend=wrong_in(lambda out, args: out + 0.0))(-X)
torch._dynamo.reset()
torch.compile(half, backend="aot_eager_decomp_partition")(torch.rand(64, dtype=torch.bfloat16))
torch._dynamo.reset()
ones = torch.ones(4)
torch.compile(too_short, backend=wrong_in(spoilt(9.0)))(X, ones, ones, torch.zeros(1), ones)
torch._dynamo.reset()
torch.compile(never_written, backend=wrong_in(spoilt(3.0)))(torch.rand(7))
"""
KINDS = {
    "first": ["values", "nan", "inf", "dtype", "strides"],  # of the first five a probe tells
    "second": ["shape", "mutation", "values", "aliasing", "zero_sign"],
}


def run(folder: Path, half: str) -> list[dict[str, Any]]:
    (folder / "x.py").write_text(PROGRAM)
    request = ProbeRequest(
        "p", Target(sys.executable, (sys.executable, "x.py", half), folder), None, 500.0, folder / "run",
        accuracy=Comparison(own_check=True, signs=True, seconds=400), extra_env={"OMP_NUM_THREADS": "1"},
        verbose_logs=False, neutral=neutral_store(),
    )  # fmt: skip
    probe = run_probe(request)
    assert probe.outcome.exit_code == 0, probe.log.read_text()[-3000:]
    return [json.loads(line) for line in (folder / "run" / "logs" / "p.events.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return run(tmp_path_factory.mktemp("second"), "second")


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["e"] == kind]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    assert of(events, "not_compared") == []
    return [event["result"]["kind"] for event in of(events, "wrong")]


def test_every_kind_is_told(tmp_path: Path, second: list[dict[str, Any]]) -> None:
    assert kinds(run(tmp_path, "first")) == KINDS["first"]
    assert kinds(second) == KINDS["second"]


def test_rounding_is_told_and_not_blamed(second: list[dict[str, Any]]) -> None:
    told = [event["result"] for event in of(second, "rounding") if event["result"]["dtype"] == "bfloat16"]
    assert told and told[-1]["difference"] > 0
    assert told[-1]["compiled_error"] <= 2 * told[-1]["eager_error"]


def test_what_eager_reads_from_elsewhere_is_not_blamed(second: list[dict[str, Any]]) -> None:
    assert len(of(second, "unsteady")) == 2
