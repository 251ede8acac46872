"""Parsing beside other threads that parse (python/cpython#106905)."""

from __future__ import annotations

import ast
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from triage.model.syntax import parse, parse_expression

TEXT = "def f(a):\n    return [[[a + 1]]]\n" * 50


@contextmanager
def during_the_first_collection(action: Callable[[], None]) -> Iterator[list[str]]:
    """Run `action` in the first garbage collection of this thread; yields what has been run."""
    done: list[str] = []
    here, before = threading.get_ident(), gc.get_threshold()

    def collecting(phase: str, info: dict[str, int]) -> None:
        if not done and phase == "start" and threading.get_ident() == here:
            done.append(phase)
            action()

    gc.collect()
    gc.set_threshold(100)
    gc.callbacks.append(collecting)
    try:
        yield done
    finally:
        gc.callbacks.remove(collecting)
        gc.set_threshold(*before)


def test_a_thread_that_comes_in_the_middle_waits():
    found: list[ast.Module | SystemError] = []

    def beside(depth: int = 7) -> None:  # another depth of calls than this thread's
        if depth:
            return beside(depth - 1)
        try:
            found.append(parse(TEXT))
        except SystemError as error:
            found.append(error)

    other = threading.Thread(target=beside)

    def lets_it_in() -> None:
        other.start()
        other.join(0.5)

    with during_the_first_collection(lets_it_in) as done:
        mine = parse(TEXT)
    other.join(10)
    assert done
    assert [type(each) for each in (mine, *found)] == [ast.Module, ast.Module]


def test_an_expression_is_one():
    assert isinstance(parse_expression("a + 1"), ast.BinOp)
    with pytest.raises(SyntaxError):
        parse_expression("a = 1")
