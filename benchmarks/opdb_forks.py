"""Bodies of scripts that are run in forks of one warm process: a crash or a hang costs no more than itself. Imports torch."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from opdb_text import Call, script

CHECK = "check"  # the script's own comparison failed, after both have run


def ended(text: str) -> str:
    """How the script ends: nothing where it passes, else CHECK or the type of the error."""
    torch._dynamo.reset()
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, "<sample>", "exec"), {"__name__": "__main__"})
    except AssertionError as error:
        said = ("not close", "not equal", "do not match")
        return CHECK if any(words in str(error) for words in said) else "AssertionError"
    except Exception as error:  # noqa: BLE001  an operation may refuse in any way
        return type(error).__name__
    return ""


def warm_up(backend: str) -> None:
    """The first compile of a process imports and caches much; children then need not."""
    for backward in ("", "floating_point"):
        ended(script(Call("torch.exp", [torch.ones(2)], {}), backend, backward=backward))
    gc.freeze()


def in_child(work: Callable[[], Any], seconds: float) -> Any:
    """What `work` returns, as JSON; None where it crashed or took too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(int(seconds))
        with contextlib.suppress(BaseException), os.fdopen(writing, "w") as out:
            json.dump(work(), out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as given:
        text = given.read()
    os.waitpid(child, 0)
    with contextlib.suppress(ValueError):  # it ended in the middle
        return json.loads(text)
    return None


def lines(file: str | Path) -> list[dict[str, Any]]:
    """A file of one JSON object in each line; nothing where there is none yet."""
    text = Path(file).read_text(encoding="utf-8") if Path(file).is_file() else ""
    return [json.loads(line) for line in text.splitlines()]
