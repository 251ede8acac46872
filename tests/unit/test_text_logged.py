"""A logger gives way to `print`."""

from __future__ import annotations

import pytest

from text_helpers import results
from triage.reduce.text.passes import logged


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log.info('loss %.3f after %d', loss, n)\n", ["print('loss %.3f after %d' % (loss, n))\n"]),
        ("log.info('loss %.3f', loss)\n", ["print('loss %.3f' % (loss,))\n"]),
        ("self.logger.warning(f'loss {loss:.3f}')\n", ["print(f'loss {loss:.3f}')\n"]),
        ("logging.error(loss, exc_info=True)\n", ["print(loss)\n"]),
        ("found = log.info('loss')\nlog.info()\nlog.setLevel(3)\n", []),
    ],
)
def test_what_is_logged_is_printed(text: str, expected: list[str]) -> None:
    assert results(text, logged.propose) == expected
