"""A function of an installed package is left uncompiled by a line of the program. No torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ways_round_programs import FILE, program, source

from triage.culprit.ways_round.changes import Spot, of_libraries
from triage.culprit.ways_round.library import folders_of_packages, uncompiled_in_library
from triage.stories.spots import Files

LIBRARY = """import functools


def scaled(x):
    return x * 2


class Block:
    @functools.cache
    def forward(self, x):
        def inner(y):
            return y.relu()

        return inner(scaled(x))

    @staticmethod
    def shared(x):
        return x.cumsum(0)
"""
PLACE = Path("/env/lib/python3.12/site-packages/nets/layers.py")


def told(line: int, path: Path = PLACE) -> list[tuple[str, tuple[str, ...]]]:
    return [(each.name, each.lines) for each in uncompiled_in_library(path, source(LIBRARY), line)]


def test_a_method_and_a_function_are_found_by_their_names() -> None:
    block = ("from nets.layers import Block", "", "Block.forward = torch.compiler.disable(Block.forward)")
    assert told(14) == [("Block.forward", block)]
    assert told(12) == [("Block.forward", block)]  # what it defines is made anew each time
    line = "layers.scaled = torch.compiler.disable(layers.scaled)"
    assert told(5) == [("scaled", ("from nets import layers", "", line))]
    assert told(5, PLACE.with_name("__init__.py"))[0][1][0] == "import nets"
    assert told(18) == told(1) == []  # a static method is not what its class gives by that name


def test_the_line_goes_below_the_imports_of_the_program() -> None:
    known = program()
    library = replace(known, read=lambda path: source(LIBRARY) if path == PLACE else known.read(path))
    (change,) = of_libraries(library, [Spot(PLACE, 14)])
    assert (change.kind, change.where) == ("function", "train.py")
    assert change.words == "Leave `Block.forward` of nets.layers uncompiled, by a line after the imports of train.py"
    assert list(change.texts) == [FILE]
    text = change.texts[FILE].decode()
    assert "from torch import nn\nfrom nets.layers import Block\n\nBlock.forward = torch.compiler.disable(" in text
    assert not list(of_libraries(replace(library, main=None), [Spot(PLACE, 14)]))


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_a_line_of_a_package_is_found_where_the_interpreter_has_it(tmp_path: Path, folder: str) -> None:
    file = tmp_path / "lib" / "python3.12" / folder / "nets" / "layers.py"
    file.parent.mkdir(parents=True)
    file.write_text(LIBRARY)
    python = str(tmp_path / "bin" / "python")
    assert folders_of_packages(python) == (file.parent.parent,)
    found: Any = SimpleNamespace(
        target=SimpleNamespace(cwd=tmp_path, script=None, python=python), walk=SimpleNamespace(seen={})
    )
    files = Files(found)
    assert files.library_spot("nets/layers.py:5 in scaled: return x * 2") == Spot(file, 5)
    assert files.library_spot("nets/layers.py:5 in scaled: return x * 3") is None
    assert files.library_spot("layers.py:5 in scaled: return x * 2") is None  # a file of the program
