"""Failures of Triton kernels and CUDA graphs, on a machine with a CUDA device (`make gpu`); skipped elsewhere."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.gpu,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no CUDA device"),
]

# Inductor's own switch for its tests: every relu is written wrongly.
INJECTED = """
import torch
import torch._inductor.config as config

config.triton.inject_relu_bug_TESTING_ONLY = "{kind}"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(4)))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return torch.relu(x).sum(-1)


torch.manual_seed(0)
net, x = Net().cuda(), torch.randn(8, 16, device="cuda")
expected, actual = net(x), torch.compile(net{options})(x)
torch.cuda.synchronize()
torch.testing.assert_close(actual, expected)
"""

# Inductor does not see that the operator waits for the GPU, which no CUDA graph can hold: the second call fails.
NOT_RECORDABLE = """
import torch


@torch.library.custom_op("shop::clip", mutates_args=())
def clip(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(max=x.abs().median().item())


@clip.register_fake
def _(x):
    return torch.empty_like(x)


@torch.no_grad()
def step(x):
    return clip(torch.tanh(x)).softmax(-1)


step = torch.compile(step, mode="reduce-overhead")
for _ in range(4):
    print(step(torch.randn(16, 32, device="cuda")).sum().item())
"""


@pytest.fixture
def triage(tmp_path: Path) -> Command:
    code = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    if subprocess.run([sys.executable, "-c", code], check=False).returncode:
        pytest.skip("this torch sees no CUDA device")
    return Command(tmp_path)


@pytest.mark.parametrize(
    ("kind", "symptoms", "options"),
    [
        ("compile_error", {"exception"}, ""),
        ("runtime_error", {"exception", "crash"}, ""),
        ("accuracy", {"wrong_result"}, ""),
        ("compile_error", {"exception"}, ', mode="reduce-overhead"'),
    ],
)
def test_a_failure_of_a_triton_kernel_ends_in_one_operation(
    triage: Command, kind: str, symptoms: set[str], options: str
) -> None:
    triage.script(INJECTED.format(kind=kind, options=options))
    done = triage("run", "--quiet", "--out", "out", "train.py")
    assert done.returncode == 0, done.stderr
    report = json.loads((triage.out / "report.json").read_text())
    assert report["verdict"]["stage"] == "inductor" and report["verdict"]["symptom"] in symptoms
    made = report["reproducer"]
    assert made["verified"] and made["ops"] <= 2
    assert "cuda" in (triage.out / "repro.py").read_text()


def test_what_fails_when_a_cuda_graph_is_recorded_is_reduced_as_a_graph(triage: Command) -> None:
    triage.script(NOT_RECORDABLE)
    done = triage("run", "--quiet", "--out", "out", "train.py")
    assert done.returncode == 0, done.stderr
    report = json.loads((triage.out / "report.json").read_text())
    assert report["verdict"]["stage"] == "inductor"
    assert report["known_cause"]["id"] == "cudagraph_operator_waits"
    made = report["reproducer"]
    assert made["verified"] and made["ops"] == 1
    assert "for _ in range(3):" in (triage.out / "repro.py").read_text()


# The second call of each kind writes where the first one's result lies, which is kept.
KEPT = """
import torch

encode = torch.compile(torch.nn.Linear(32, 32).cuda().eval(), mode="reduce-overhead")
with torch.no_grad():
    kept = [encode(torch.randn(4, 32, device="cuda")) for _ in range(5)]
print(torch.stack(kept).norm().item())
"""

# The compiler runs where nothing may be copied to the GPU.
RECORDED = """
import torch

net = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.GELU()).cuda().eval()
model = torch.compile(net)
x = torch.randn(8, 32, device="cuda")
net(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.no_grad(), torch.cuda.graph(graph):
    out = model(x)
graph.replay()
print(out.sum().item())
"""


@pytest.mark.parametrize(
    ("script", "cause"), [(KEPT, "cudagraph_output_overwritten"), (RECORDED, "compiled_while_recorded")]
)
def test_what_no_graph_shows_is_reduced_as_text(triage: Command, script: str, cause: str) -> None:
    triage.script(script)
    done = triage("run", "--quiet", "--out", "out", "train.py")
    assert done.returncode == 0, done.stderr
    report = json.loads((triage.out / "report.json").read_text())
    assert report["verdict"]["stage"] == "inductor"
    assert report["known_cause"]["id"] == cause
    assert report["reproducer"]["verified"]
