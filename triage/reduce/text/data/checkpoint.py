"""What `torch.save` wrote, read without torch and without running anything of it: shapes and names, never elements.

A file of `torch.save` is an archive with one pickle (`data.pkl`) beside the elements (torch/serialization.py). Only what
builds tensors, dictionaries, lists and numbers is understood; a file with anything else is left alone.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triage.reduce.text.data.standins import Masking

LARGEST_PICKLE = 1 << 20
MOST_CHARACTERS = 20_000


@dataclass(frozen=True)
class _Tensor:
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class _Storage:
    dtype: str


def saved(path: Path) -> Any:
    """The value in a checkpoint, with tensors by shape; None where it is no checkpoint, or holds other things."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = next((each for each in archive.namelist() if each.endswith("data.pkl")), None)
            if name is None or archive.getinfo(name).file_size > LARGEST_PICKLE:
                return None
            return _Reader(io.BytesIO(archive.read(name))).load()
    except Exception:  # noqa: BLE001  a pickle may be broken in any way
        return None


def expression(value: Any, masking: Masking) -> str | None:
    """What makes a like value, with made-up elements, words and numbers; None where it would be too long."""
    try:
        text = _told(value, masking)
    except (TypeError, RecursionError):
        return None
    return text if len(text) <= MOST_CHARACTERS else None


def _told(value: Any, masking: Masking) -> str:
    if isinstance(value, _Tensor):
        dtype = "" if value.dtype == "float32" else f", dtype=torch.{value.dtype}"
        return f"torch.ones({value.shape!r}{dtype})"
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int | float):
        sign = "-" if value < 0 else ""
        return sign + masking.of(repr(abs(value)))
    if isinstance(value, str):
        return repr(masking.of(value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_told(key, masking)}: {_told(item, masking)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_told(item, masking) for item in value) + "]"
    if isinstance(value, tuple):
        return "(" + "".join(f"{_told(item, masking)}, " for item in value) + ")"
    raise TypeError(type(value).__name__)


class _Reader(pickle.Unpickler):
    """Builds stubs only: `find_class` gives nothing that does anything."""

    def find_class(self, module: str, name: str) -> Any:
        known: dict[tuple[str, str], Callable[..., Any]] = {
            ("collections", "OrderedDict"): dict,
            ("torch._utils", "_rebuild_tensor_v2"): lambda storage, offset, size, *rest: _Tensor(
                tuple(size), storage.dtype
            ),
            ("torch._utils", "_rebuild_parameter"): lambda data, *rest: data,
        }
        if (module, name) in known:
            return known[module, name]
        if module == "torch" and name.endswith("Storage"):
            return _Storage(_DTYPES[name.removesuffix("Storage")])
        raise pickle.UnpicklingError(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        return pid[1]


_DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
    "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}  # fmt: skip
