"""A scoring service: one JSON request per line on standard input, one answer per line on standard output."""

import json
import sys

import torch
import torch._inductor.config as inductor_config

inductor_config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"


class Scorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(64, 16)
        self.head = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))

    def forward(self, tokens, boost):
        pooled = self.embed(tokens).mean(dim=0)
        score = self.head(pooled).squeeze(-1)
        return torch.relu(score + boost) if boost is not None else torch.sigmoid(score)


def main():
    torch.manual_seed(0)
    scorer = torch.compile(Scorer().eval(), dynamic=True)
    for line in sys.stdin:
        request = json.loads(line)
        tokens = torch.tensor([hash(word) % 64 for word in request["text"].split()])
        boost = torch.tensor(request["boost"]) if "boost" in request else None
        with torch.no_grad():
            print(json.dumps({"id": request["id"], "score": float(scorer(tokens, boost))}), flush=True)


if __name__ == "__main__":
    main()
