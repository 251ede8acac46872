"""Unknown text as Markdown, read back with a Markdown parser."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from triage.report import markdown

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
MARKUP = st.text("`|<>!-_*~[]()#@\\ \nab1/:&;\"'", max_size=40)
TEXT = ANY | MARKUP


@given(TEXT)
@example("```\n</details>\n```")
@example("~~~\n````python")
def test_a_fence_holds_the_text_and_nothing_escapes(text: str) -> None:
    tokens = PARSER.parse(markdown.fence(text, "python"))
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content.rstrip("\n") == markdown.clean(text).strip("\n").rstrip()


@given(TEXT)
@example("`")
@example("a``b`")
def test_a_code_span_holds_the_text(text: str) -> None:
    shown = markdown.code(text)
    if not shown:
        assert not markdown.one_line(text)
        return
    children = PARSER.parseInline(shown)[0].children
    assert children is not None
    assert [child.type for child in children] == ["code_inline"]
    assert children[0].content == markdown.one_line(text)


@given(MARKUP)
@example("<img src=x> <!-- -->")
@example("a < b and 0 <= c, __init__ and *args, **kwargs")
@example("[x](http://evil.example)")
def test_prose_is_text_and_code_only(text: str) -> None:
    children = PARSER.parseInline(markdown.prose(text))[0].children or []
    kinds = {child.type for child in children}
    assert kinds <= {"text", "code_inline", "s_open", "s_close", "softbreak", "text_special"}, kinds


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("with @torch.compile and #123", "with `@torch.compile` and `#123`"),
        ("`inductor` fails: a*b", "`inductor` fails: a\\*b"),
        ("0 <= tmp7 < 10L", "0 <= tmp7 < 10L"),
        ("the <secret> of ~/x", "the \\<secret> of ~/x"),
        ("buf12.__getitem__", "buf12.\\_\\_getitem\\_\\_"),
        ("pytorch#97750", "`pytorch#97750`"),
        ("an odd ` mark", "an odd \\` mark"),
    ],
)
def test_prose_reads_well(text: str, shown: str) -> None:
    assert markdown.prose(text) == shown


@given(st.lists(st.lists(TEXT, min_size=3, max_size=3), min_size=1, max_size=4))
def test_a_table_keeps_its_shape(rows: list[list[str]]) -> None:
    shown = markdown.table(
        ["a", "b", "c"], [[markdown.code(x), markdown.prose(y), markdown.code(z)] for x, y, z in rows]
    )
    tokens = PARSER.parse(shown)
    kinds = [token.type for token in tokens]
    assert kinds[0] == "table_open" and kinds[-1] == "table_close"
    assert kinds.count("td_open") == 3 * len(rows)


@given(MARKUP)
@example("--> <b>")
@example("->")
@example("--!>")
def test_a_comment_cannot_be_closed_from_inside(text: str) -> None:
    shown = markdown.comment(text)
    assert shown.count("-->") == 1
    assert "--!>" not in shown
    assert not re.match(r"<!--(>|->)", shown)


def test_clean_takes_colours_and_controls_out() -> None:
    assert markdown.clean("\x1b[31mred\x1b[0m\r\nx\x00\x07\u202ey\rz\udc80") == "red\nxy\nz\ufffd"
