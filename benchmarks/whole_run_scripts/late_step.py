"""Late step: a training loop of 19 full batches; the 20th is what is left over, and takes another branch, which fails."""

import torch
import torch._inductor.config
from torch import nn

BATCH, ROWS, FEATURES = 64, 19 * 64 + 17, 16

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(FEATURES, 32)
        self.outer = nn.Linear(32, 1)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        hidden = self.inner(rows)
        if rows.shape[0] == BATCH:
            hidden = torch.tanh((hidden - hidden.mean(0)) / hidden.std(0))
        else:  # too few rows for statistics
            hidden = torch.relu(hidden) * 0.5
        return self.outer(hidden).squeeze(-1)


torch.manual_seed(0)
rows = torch.randn(ROWS, FEATURES)
wanted = rows.sin().sum(-1)
net = Net()
compiled = torch.compile(net)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step, (batch, goal) in enumerate(zip(rows.split(BATCH), wanted.split(BATCH), strict=True), 1):
    loss = nn.functional.mse_loss(compiled(batch), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}", flush=True)
