"""Sentences of different lengths as one nested tensor."""

import torch
import torch._inductor.config as inductor_config
from torch import nn

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 4)

    def forward(self, tokens):
        return torch.relu(self.head(self.norm(self.embed(tokens)))) * 2


torch.manual_seed(0)
lengths = (3, 5, 2)
tokens = torch.nested.nested_tensor([torch.randint(0, 30, (n,)) for n in lengths], layout=torch.jagged)
with torch.no_grad():
    print([part.shape for part in torch.compile(Tagger())(tokens).unbind()])
