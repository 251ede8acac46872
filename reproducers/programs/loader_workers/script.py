"""Training from a data set in worker processes, with a compiled augmentation."""

import torch
import torch._inductor.config as inductor_config
from torch import nn
from torch.utils.data import DataLoader, Dataset

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "runtime_error"


class Waves(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        phase = torch.arange(16) * (index + 1) / 16
        return torch.sin(6.283 * phase), torch.tensor(index % 3)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 4, 5, stride=2), nn.BatchNorm1d(4), nn.ReLU())
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.features(x[:, None]).mean(-1))


def main():
    torch.manual_seed(0)
    model = Classifier()
    compiled = torch.compile(model)
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in DataLoader(Waves(), batch_size=4, num_workers=2, shuffle=True):
        loss = nn.functional.cross_entropy(compiled(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(float(loss))


if __name__ == "__main__":
    main()
