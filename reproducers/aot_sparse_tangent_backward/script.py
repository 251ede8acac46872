"""The table is made by a compiled module, the lookup outside of it asks for sparse gradients."""

import torch
import torch.nn.functional as F


class Table(torch.nn.Module):
    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.raw = torch.nn.Parameter(torch.randn(rows, width) / width**0.5)

    def forward(self) -> torch.Tensor:
        return self.raw * 0.5


torch.manual_seed(1)
table = torch.compile(Table(50, 8))
head = torch.nn.Linear(8, 3)
optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)

for step in range(2):
    ids = torch.randint(0, 50, (16,))
    labels = ids % 3
    features = F.embedding(ids, table(), sparse=True)
    loss = F.cross_entropy(head(features), labels)
    print("forward", step, round(loss.item(), 3))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
