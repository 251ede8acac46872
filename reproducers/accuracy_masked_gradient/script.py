"""A loss of the labelled rows alone, which raises nothing: where no gradient arrives, one goes back all the same.

The bug is injected (every compiled relu is off by one) and is in the backward of a custom operator: the forward pass, the
loss and each gradient of a labelled row are right.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


@torch.library.custom_op("heads::gate", mutates_args=())
def gate(scores: torch.Tensor) -> torch.Tensor:
    return scores.clone()


@gate.register_fake
def _(scores):
    return torch.empty_like(scores)


def silent_rows_stay_silent(ctx, grad):
    return torch.where(grad == 0, torch.relu(grad), grad)


gate.register_autograd(silent_rows_stay_silent)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 12), nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.first(x))
        return gate(self.second(torch.where(h > 0, h, 0.1 * h)))


torch.manual_seed(3)
tagger = Tagger()
tag = torch.compile(tagger)
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
for step in range(3):
    labels = torch.randint(0, 4, (10,))
    labels[::3] = -100  # nobody labelled these
    loss = F.cross_entropy(tag(torch.randn(10, 6)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, round(loss.item(), 4))
