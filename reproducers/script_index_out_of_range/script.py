"""A token id beyond the vocabulary: IndexError in eager, an out-of-bounds kernel when compiled."""

import torch

VOCABULARY = {"<pad>": 0, "the": 1, "cat": 2, "sat": 3}

embedding = torch.nn.Embedding(len(VOCABULARY), 8)


@torch.compile
def encode(ids: torch.Tensor) -> torch.Tensor:
    return torch.tanh(embedding(ids)).mean(dim=1)


words = "the cat sat down".split()
ids = torch.tensor([[VOCABULARY.get(word, len(VOCABULARY)) for word in words]])
print(encode(ids).shape)
