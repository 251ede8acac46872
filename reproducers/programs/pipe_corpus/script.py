"""Counts on a text that comes through a pipe: cat corpus.txt | python script.py"""

import collections
import sys

import torch


def vocabulary(text):
    counts = collections.Counter(text.split())
    return {word: number for number, (word, _) in enumerate(counts.most_common())}


@torch.compile
def spectrum(ids, size):
    one_hot = torch.nn.functional.one_hot(ids, size).float()
    density = torch.fft.rfft(one_hot.cumsum(0), dim=0)
    return torch.nan_to_num(density / density.abs())


text = sys.stdin.read()
words = vocabulary(text)
if not words:
    raise SystemExit("nothing to read")
ids = torch.tensor([words[word] for word in text.split()])
print(spectrum(ids, len(words)).abs().sum())
