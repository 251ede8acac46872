"""A synthetic data set: names of two languages, as sequences of letters."""

import logging
import random
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset

log = logging.getLogger(__name__)

NORTH = ("berg", "dal", "holm", "lund", "strand", "vik", "sund", "hede")
SOUTH = ("ano", "ello", "etti", "ino", "one", "ucci", "ara", "osa")
STEMS = ("al", "ber", "can", "dor", "fal", "gri", "kar", "mon", "per", "sal", "tor", "val")


@dataclass(frozen=True)
class Example:
    text: str
    label: int


class Vocabulary:
    """Letters to numbers; 0 is padding and 1 stands for whatever is not known."""

    def __init__(self, letters: str) -> None:
        self.letters = letters
        self.index = {letter: number for number, letter in enumerate(letters, start=2)}

    def __len__(self) -> int:
        return len(self.letters) + 2

    def encode(self, text: str, length: int) -> list[int]:
        numbers = [self.index.get(letter, 1) for letter in text.lower()[:length]]
        return numbers + [0] * (length - len(numbers))

    def decode(self, numbers: list[int]) -> str:
        return "".join(self.letters[number - 2] for number in numbers if number >= 2)


class Names(Dataset):
    """Examples made up by a seeded generator: the same ones each time."""

    def __init__(self, vocabulary: Vocabulary, count: int, length: int, seed: int = 0) -> None:
        generator = random.Random(seed)
        self.vocabulary = vocabulary
        self.length = length
        self.examples = [self._make(generator) for _ in range(count)]
        log.info("made %d names, the first is %s", count, self.examples[0].text)

    @staticmethod
    def _make(generator: random.Random) -> Example:
        label = generator.randrange(2)
        stem = generator.choice(STEMS)
        if generator.random() < 0.3:
            stem += generator.choice(STEMS)
        ending = generator.choice(SOUTH if label else NORTH)
        return Example(stem + ending, label)

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        example = self.examples[number]
        return torch.tensor(self.vocabulary.encode(example.text, self.length)), example.label


def collate(items: list[tuple[torch.Tensor, int]]) -> tuple[torch.Tensor, torch.Tensor]:
    letters = torch.stack([item[0] for item in items])
    labels = torch.tensor([item[1] for item in items])
    return letters, labels


def batches(names: Names, size: int, shuffle: bool = True):
    """Batches of letters and labels; the last one may be smaller and is dropped."""
    loader = torch.utils.data.DataLoader(names, batch_size=size, shuffle=shuffle, collate_fn=collate, drop_last=True)
    for number, (letters, labels) in enumerate(loader):
        log.debug("batch %d: %s", number, tuple(letters.shape))
        yield letters, labels
