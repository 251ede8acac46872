"""Data-parallel training on two ranks: torchrun --nproc-per-node 2 script.py"""

import torch
import torch._inductor.config as inductor_config
import torch.distributed as dist
from torch import nn

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = compiled(torch.randn(4, 8)).pow(2).mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
