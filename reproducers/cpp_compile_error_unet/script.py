"""A small U-Net, one inference. The bug is injected: Inductor writes invalid C++ for every relu."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


class Conv(nn.Module):
    def __init__(self, cin: int, cout: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(2, cout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.norm(self.conv(x)))


class Gate(nn.Module):
    """Attention gate on a skip connection; the only relu of the network is in here."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.skip = nn.Conv2d(width, width, 1)
        self.deep = nn.Conv2d(width, width, 1)
        self.score = nn.Conv2d(width, 1, 1)

    def forward(self, skip: torch.Tensor, deep: torch.Tensor) -> torch.Tensor:
        return skip * torch.sigmoid(self.score(torch.relu(self.skip(skip) + self.deep(deep))))


class UNet(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.stem = Conv(1, width)
        self.down = Conv(width, 2 * width)
        self.mid = Conv(2 * width, width)
        self.gate = Gate(width)
        self.up = Conv(2 * width, width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = self.stem(x)
        deep = self.mid(self.down(F.avg_pool2d(skip, 2)))
        deep = F.interpolate(deep, scale_factor=2.0, mode="nearest")
        return self.head(self.up(torch.cat([self.gate(skip, deep), deep], dim=1)))


if __name__ == "__main__":
    torch.manual_seed(0)
    net = UNet().eval()
    image = torch.randn(1, 1, 16, 16)
    with torch.no_grad():
        mask = torch.compile(net)(image).argmax(1)
    print("foreground pixels:", int(mask.sum()))
