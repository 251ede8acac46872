"""What a command line gives, in place of its parser."""

from __future__ import annotations

import pytest
from text_helpers import reduced, results

from triage.reduce.text.passes import options

PROGRAM = """\
import argparse
import pathlib
import sys

def main():
    parser = argparse.ArgumentParser(description="trains")
    size = parser.add_argument_group("size")
    size.add_argument("-w", "--width", type=int, default=8, help="of a layer")
    parser.add_argument("--lr", type=float, default=-0.5)
    parser.add_argument("--out", type=pathlib.Path, default="runs")
    parser.add_argument("--device", default=pick())
    parser.add_argument("--half", action="store_true")
    args = parser.parse_args()
    train(args.width, args.out / "a", 2 * args.lr, args.device, half=args.half)
main()
"""


def test_each_option_stands_where_it_is_read():
    read, namespace = results(PROGRAM, options.propose)
    assert (
        read == "import pathlib\n\ndef main():\n"
        "    train(8, pathlib.Path('runs') / \"a\", 2 * (-0.5), pick(), half=False)\n\nmain()\n"
    )
    assert (
        "    args = argparse.Namespace(width=8, lr=-0.5, out=pathlib.Path('runs'), device=pick(), half=False)\n"
        in namespace
    )
    assert "parser" not in namespace


def test_arguments_that_stand_in_the_text_are_parsed():
    text = PROGRAM.replace("\ndef main", "sys.argv[1:] = ['-w', '3', '--half']\n\ndef main")
    assert (
        "    train(3, pathlib.Path('runs') / \"a\", 2 * (-0.5), pick(), half=True)\n"
        in results(text, options.propose)[0]
    )


def test_options_that_are_handed_on_become_a_namespace():
    text = PROGRAM.replace("    train(args.width", "    log(vars(args))\n    train(args.width")
    (namespace,) = results(text, options.propose)
    assert "argparse.Namespace(width=8," in namespace


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("parse_args()", "parse_args(words)"),
        ("    args =", "    add_options(parser)\n    args ="),
        ('    parser.add_argument("--half"', '    parser.add_argument(NAME, "--half"'),
        ('"--half", ', '"half", choices=KINDS, nargs=COUNT, '),
        ('    parser.add_argument("--half", action="store_true")', '    parser.add_argument("half")'),
    ],
)
def test_a_parser_that_cannot_be_told_stays(old: str, new: str):
    text = PROGRAM.replace(old, new)
    assert text != PROGRAM and results(text, options.propose) == []


def test_the_parser_goes_in_few_questions():
    text = "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument('--n', default=4)\n"
    text += "torch.compile(abs)(p.parse_args().n)\n"
    found, queries = reduced(text, lambda one: "compile(abs" in one)
    assert "argparse" not in found and queries < 15
