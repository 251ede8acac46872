"""What the program finds around it: its arguments, the files it reads, its standard input. Data is private.

A reproducer gets made-up contents (`standins`), in a temporary directory that is gone when it ends: it reads what it wrote
itself, and leaves nothing behind. What only fails with the program's own words is withheld, or asked for (`withheld`).
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from triage.reduce.text.data.checkpoint import expression, saved
from triage.reduce.text.data.standins import (
    Masking,
    private_words,
    public_words,
    shortened,
    standins,
    told_by_torch,
    words_in,
)
from triage.reduce.text.watching.evidence import Call, Moment, Trace

LARGEST_FILE = 20_000  # bytes that a reproducer may hold of one
LARGEST_READ = 4 << 20
STDIN = "<stdin>"  # its name beside those of files
# Calls that may leave something in the current directory.
_WRITING = re.compile(
    r"\b(?:save\w*|write\w*|mkdir|makedirs|dump|open|to_\w+|touch|FileHandler|SummaryWriter|export\w*)\("
)
_RESOURCES = re.compile(r"\bimportlib(?:\.|_|\s+import\s+)resources\b")
_QUOTED = re.compile(r"""b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*\"""")
# What torch's modules and optimizers call what they keep, and words of the expressions that recorded values are told in.
_OF_TORCH = (
    "weight", "bias", "running_mean", "running_var", "num_batches_tracked", "state_dict", "state", "param_groups", "params",
    "exp_avg", "exp_avg_sq", "step", "lr", "betas", "eps", "weight_decay", "momentum", "momentum_buffer", "amsgrad",
    "maximize", "foreach", "capturable", "differentiable", "fused", "decimal", "cpu", "cuda", "xpu", "mps", "meta", "strided",
)  # fmt: skip


@dataclass(frozen=True)
class File:
    """A file by the name the program finds it under, or standard input."""

    name: str
    content: bytes
    saved: Any = None  # the value of a checkpoint, with tensors by their shapes

    @cached_property
    def text(self) -> str | None:
        """What it holds as text; None where it holds none."""
        with contextlib.suppress(UnicodeDecodeError):
            return None if b"\0" in self.content else self.content.decode("utf-8")
        return None

    def written(self, text: str) -> list[str]:
        """Statements that give the program this text in its place."""
        if self.name == STDIN:
            return ["import io", "import sys", f"sys.stdin = io.TextIOWrapper(io.BytesIO({text.encode()!r}))"]
        return [*self._folder(), "import pathlib", f"pathlib.Path({self.name!r}).write_text({text!r})"]

    def made_up(self, public: Collection[str] = ()) -> list[str]:
        """Statements that make up a file that holds no text: an array or a checkpoint of its shapes, else as many zeros."""
        value = None if self.saved is None else expression(self.saved, Masking(public, sizes=False))
        if value is not None:
            return [*self._folder(), "import torch", f"torch.save({value}, {self.name!r})"]
        array = array_header(self.content)
        if array is not None:
            make = f"numpy.ones({array[1]}, {array[0]!r})"
            return [*self._folder(), "import numpy", f"numpy.save({self.name!r}, {make})"]
        return [
            *self._folder(),
            "import pathlib",
            f"pathlib.Path({self.name!r}).write_bytes(bytes({len(self.content)}))",
        ]

    def verbatim(self) -> list[str]:
        """Statements that give the program the very bytes; nothing where they are too many."""
        if len(self.content) > LARGEST_FILE:
            return []
        if self.text is not None:
            return self.written(self.text)
        return [*self._folder(), "import pathlib", f"pathlib.Path({self.name!r}).write_bytes({self.content!r})"]

    def shortened(self, lines: int) -> File:
        """Its first lines, or of JSON the first elements of each list."""
        return self if self.text is None else File(self.name, shortened(self.text, lines).encode())

    def _folder(self) -> list[str]:
        parent = self.name.rpartition("/")[0]
        return ["import os", f"os.makedirs({parent!r}, exist_ok=True)"] if parent else []


@dataclass(frozen=True)
class Data:
    """What the program finds. `public` are the words that are its code's, or torch's."""

    files: tuple[File, ...] = ()
    argv: tuple[str, ...] = ()
    public: frozenset[str] = field(default_factory=frozenset)
    writes: bool = False  # whether the program may leave something in the current directory
    named_by_place: bool = False  # whether it looks for files beside `__file__`
    packages: tuple[str, ...] = ()  # folders whose packages it looks for files in, by `importlib.resources`

    def preludes(self) -> list[str]:
        """Statements that give a script what it finds, the least made-up contents first. Never empty."""
        forms: list[list[list[str]]] = [self._forms(file) for file in self.files]
        count = max([1, *map(len, forms)])
        told = [self._prelude([lines[min(n, len(lines) - 1)] for lines in forms if lines]) for n in range(count)]
        here = [self._prelude([], in_place=False)] if not self.files else []
        return list(dict.fromkeys([*here, *told]))

    def verbatim(self, kept: Collection[str] | None = None) -> str:
        """The same with the contents themselves; of text the words that are not `kept` are made up, None keeps all."""
        lines = []
        for file in self.files:
            if file.text is not None and kept is not None and len(file.content) <= LARGEST_FILE:
                lines.append(file.written(Masking(self.public, kept).of(file.text)))
            else:
                lines.append(file.verbatim())
        return self._prelude(lines)

    def shortened(self, lines: int) -> Data:
        """With the first lines of each text alone."""
        return replace(self, files=tuple(file.shortened(lines) for file in self.files))

    def words(self) -> tuple[str, ...]:
        """The private words of all files."""
        found = (private_words(file.text, self.public) for file in self.files if file.text is not None)
        return tuple(dict.fromkeys(word for words in found for word in words))

    def withheld(self, kept: Collection[str]) -> tuple[str, ...]:
        """The names of the files that words stay in, or that have no words to replace."""
        return tuple(
            file.name
            for file in self.files
            if file.text is None or set(private_words(file.text, self.public)) & set(kept)
        )

    def _forms(self, file: File) -> list[list[str]]:
        if file.text is None:
            return [file.made_up(self.public)]
        return [file.written(text) for text in standins(file.text, self.public)]

    def _is_placed(self) -> bool:
        """Whether it must run in a directory of its own, as files are written for it."""
        return any(file.name != STDIN for file in self.files)

    def _prelude(self, written: Sequence[Sequence[str]], *, in_place: bool = True) -> str:
        lines = [line for one in written for line in one]
        place = []
        if in_place and (self.writes or self._is_placed()):
            place = ["import os", "import tempfile", "folder = tempfile.TemporaryDirectory()", "os.chdir(folder.name)"]
            place += ["__file__ = os.path.abspath('repro.py')"] if self.named_by_place else []
            for folder in self.packages:  # a folder without a file of Python is a package as well
                place += ["import sys", f"sys.path.append(os.path.abspath({folder!r}))"]
        arguments = ["import sys", f"sys.argv[1:] = {list(self.argv)!r}"] if self.argv else []
        told = [*place, *lines, *arguments]
        imports = dict.fromkeys(line for line in told if line.startswith("import "))
        return "".join(f"{line}\n" for line in [*imports, *(line for line in told if line not in imports)])


def data_of(trace: Trace, folder: Path, cwd: Path, stdin: Path | None) -> Data:
    """What was seen of a program: `folder` is that of its script, `cwd` the one it was started in."""
    texts = [module.text for module in trace.modules.values() if module.local or module.lines is not None]
    own = [module.text for module in trace.modules.values() if module.local]
    by_place = any("__file__" in text for text in own)
    roots = (folder, cwd) if by_place else (cwd, folder)
    files = [file for path in trace.files if (file := _file(path, roots)) is not None]
    names = {str(path): _name(path, roots) for path in trace.files}
    if stdin is not None and any(re.search(r"\bstdin\b|\binput\(|\bfileinput\b|open\(0", text) for text in own):
        files += [File(STDIN, stdin.read_bytes())] if stdin.stat().st_size <= LARGEST_READ else []
    public = public_words(
        (*texts, *trace.texts), (*told_by_torch(trace.names), *_OF_TORCH, *words_in(" ".join(trace.argv)))
    )
    argv = tuple(names.get(word) or word for word in trace.argv)
    packages = _folders(trace, files) if any(map(_RESOURCES.search, own)) else ()
    return Data(tuple(files), argv, public, any(map(_WRITING.search, own)), by_place, packages)


def _folders(trace: Trace, files: Sequence[File]) -> tuple[str, ...]:
    """Where the program's packages lie that hold files: `src` of `src/app/prices.json`, with a package `app`."""
    packages = {name for name, module in trace.modules.items() if module.local and module.package and "." not in name}
    paths = [file.name.split("/")[:-1] for file in files]
    found = ("/".join(path[:place]) for path in paths for place, name in enumerate(path) if name in packages)
    return tuple(dict.fromkeys(folder or "." for folder in found))


def without_data(trace: Trace, public: Collection[str]) -> Trace:
    """The recorded values with made-up words in the place of those that are not the program's own code's."""
    masking = Masking(public)

    def masked(text: str) -> str:
        return _QUOTED.sub(lambda found: _masked(found.group(), masking), text)

    def of_call(call: Call) -> Call:
        return replace(call, made=call.made and masked(call.made), arguments=masked(call.arguments))

    def of_moment(moment: Moment) -> Moment:
        return replace(moment, names={name: masked(text) for name, text in moment.names.items()})

    return replace(trace, calls=tuple(map(of_call, trace.calls)), moments=tuple(map(of_moment, trace.moments)))


def array_header(content: bytes) -> tuple[str, str] | None:
    """(dtype, shape) as text of a `.npy` file (numpy.lib.format, versions 1 to 3); None for any other."""
    if content[:6] != b"\x93NUMPY" or len(content) < 12:
        return None
    start = 10 if content[6] == 1 else 12
    with contextlib.suppress(ValueError, SyntaxError, KeyError, TypeError):
        size = int.from_bytes(content[8:start], "little")
        header = ast.literal_eval(content[start : start + size].decode("latin-1"))
        return (header["descr"], repr(header["shape"])) if isinstance(header["descr"], str) else None
    return None


def _masked(quoted: str, masking: Masking) -> str:
    start = 2 if quoted[0] == "b" else 1
    return quoted[:start] + masking.of(quoted[start:-1]) + quoted[-1]


def _file(path: Path, roots: Sequence[Path]) -> File | None:
    name = _name(path, roots)
    with contextlib.suppress(OSError):
        if name is not None and path.stat().st_size <= LARGEST_READ:
            return File(name, path.read_bytes(), saved(path))
        if name is not None and (value := saved(path)) is not None:
            return File(name, b"\0" * (LARGEST_FILE + 1), value)  # too large to be shown as it is
    return None


def _name(path: Path, roots: Sequence[Path]) -> str | None:
    """How a program that is started in its own directory finds it."""
    for root in roots:
        with contextlib.suppress(ValueError, OSError):
            return path.resolve().relative_to(root.resolve()).as_posix()
    return None
