"""The tokens of a text."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator

# What says nothing by itself.
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def tokens_of(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)
