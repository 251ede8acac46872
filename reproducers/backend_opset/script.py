"""A backend of one's own: runs the graph op by op from a fixed set, as an accelerator would."""

import operator

import torch
import torch.nn as nn
import torch.nn.functional as F

OPSET = {F.linear, F.relu, F.hardtanh, operator.add, operator.mul, torch.matmul}


def opset_backend(gm: torch.fx.GraphModule, example_inputs):
    unknown = [n.target for n in gm.graph.nodes if n.op == "call_function" and n.target not in OPSET]
    if unknown:
        raise LookupError(f"opset has no kernel for {unknown[0].__name__}")
    return torch.fx.Interpreter(gm).run


class Controller(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sense, self.act = nn.Linear(6, 12), nn.Linear(12, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.relu(self.sense(x))
        h = h * F.hardsigmoid(h)
        return F.hardtanh(self.act(h))


torch.manual_seed(0)
controller = Controller()
x = torch.randn(3, 6)
print("eager  ", controller(x).flatten().tolist())
print("backend", torch.compile(controller, backend=opset_backend)(x).flatten().tolist())
