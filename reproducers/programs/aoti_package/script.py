"""Packages a model ahead of time."""

import tempfile

import torch
import torch._inductor.config as inductor_config
from torch import nn

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
program = torch.export.export(model, (torch.randn(2, 4),))
with tempfile.TemporaryDirectory() as folder:
    print(torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/model.pt2"))
