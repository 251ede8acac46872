"""Text and tree of a script: spans, tidying, names, and the form in which a candidate is run."""

from __future__ import annotations

import ast

import pytest

from triage.judge.judgement import RefusedError
from triage.reduce.text.checks.own_process import needs_own_process
from triage.reduce.text.code.names import Occurrences, undefined
from triage.reduce.text.code.script import Edit, Script, readable
from triage.reduce.text.code.shape import plain, shaped
from triage.reduce.text.code.tidy import imports_first, tidy
from triage.reduce.text.code.weight import foreign_imports

CALL = 'os.environ.get("TORCH_COMPILE_BACKEND", "eager")'


def test_spans_count_characters_not_bytes():
    script = Script('x = "é"; y = 1\n')
    assert script.source(script.tree.body[1]) == "y = 1"


@pytest.mark.parametrize("text", ["a = 1; b = 2\n", "if a: b\n", "if a:\n\tb\n", "a = 1 + \\\n  2\n"])
def test_text_whose_statements_share_lines_is_rewritten(text):
    assert readable(text) == ast.unparse(ast.parse(text)) + "\n"


def test_other_text_stays_as_it_is():
    text = "# why\nif a:  # here\n    b = [1,\n         2]\nelif c:\n    d\n"
    assert readable(text.replace("\n", "\r\n")) == text


def test_a_statement_goes_with_the_comment_above_it():
    script = Script("a = 1\n# about b\nb = 2\nc = 3\n")
    assert script.replaced([Edit(*script.lines_span(script.tree.body[1]))]) == "a = 1\nc = 3\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a:\n    b\nelse:\n    pass\n", "if a:\n    b\n"),
        ("if a:\n    b\nelif c:\n    pass\n", "if a:\n    b\n"),
        ("try:\n    a\nexcept E:\n    b\nfinally:\n    pass\n", "try:\n    a\nexcept E:\n    b\n"),
        ("for i in x:\n    a\n    pass\n", "for i in x:\n    a\n"),
        ("import os\nimport torch\ntorch.x\n", "import torch\n\ntorch.x\n"),
        ("from math import pi, e\nprint(e)\n", "from math import e\n\nprint(e)\n"),
        ("def f():\n    g()\ndef g():\n    pass\ng()\n", "def g():\n    pass\n\ng()\n"),
        ("import registers_things\n", "import registers_things\n"),
        ("@register\ndef f():\n    pass\n", "@register\ndef f():\n    pass\n"),
        ("a\n\n\n\nb\n", "a\n\nb\n"),
        ('a = """\n\n\n"""\n', 'a = """\n\n\n"""\n'),
        ("{}\n(1, [None])\n{'a': b}\n", "{'a': b}\n"),  # `b` may not be there
    ],
)
def test_tidying(text, expected):
    assert tidy(text) == expected


def test_imports_are_moved_up_once():
    text = "import torch\na = 1\nimport math\nimport torch\nimport mine\n"
    assert imports_first(text) == "import math\nimport torch\na = 1\nimport mine\n"


def test_names_that_nothing_defines():
    text = "def f(x):\n    global late\n    late = x + here\n    return [i for i in later]\nprint(late)\n"
    assert undefined(Script(text)) == {"here", "later"}


def test_a_caught_exception_is_named_behind_as():
    text = "try:\n    f()\nexcept m.error as error:\n    print(error)\n"
    places = [item.start for item in Occurrences(Script(text)).of("error")]
    assert places == [text.index("error:"), text.index("error)")]


def test_what_only_python_takes_for_no_end_of_a_line_is_escaped():
    text = readable("x = 'a\u2028b'\ny = 1\n")
    assert text == "x = 'a\\u2028b'\ny = 1\n" and tidy(text) == text


def test_a_mere_name_goes_with_its_import_but_stays_in_a_function():
    assert (
        tidy("import tempfile\nx = 1\ntempfile\nprint\nx\ndef f():\n    x\nf()\n")
        == "x = 1\n\ndef f():\n    x\n\nf()\n"
    )
    assert tidy("nowhere\n") == "nowhere\n"  # this one raises


def test_a_class_stays_whose_base_is_asked_for_its_subclasses():
    text = "class A:\n    pass\n\nclass B(A):\n    pass\n\nclass C:\n    pass\n\nprint(A.__subclasses__())\n"
    assert tidy(text) == text.replace("class C:\n    pass\n\n", "")


def test_a_mere_parameter_goes_from_a_function():
    text = "def f(x, *, y=0):\n    x\n    if y:\n        z\n        y\n    return z\n\nf(1)\n"
    assert tidy(text) == "def f(x, *, y=0):\n    if y:\n        z\n    return z\n\nf(1)\n"


def test_a_star_import_may_define_anything():
    assert undefined(Script("from m import *\nprint(x)\n")) == frozenset()


def test_names_belong_to_the_scope_that_binds_them():
    text = (
        "x = 1\nclass A:\n    x = 2\n    def f(self, y=x):\n        return x\n"
        "def g(x):\n    return (lambda: x, [x for x in x])\n"
    )
    script = Script(text)
    lines = sorted(text[: item.start].count("\n") + 1 for item in Occurrences(script).of("x"))
    assert lines == [1, 5]  # not those of the class (also its defaults), the parameter, the comprehension


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.compile(f)(x)\n", f"torch.compile(f, backend={CALL})(x)\n"),
        ("torch.compile(f, fullgraph=True)(x)\n", f"torch.compile(f, fullgraph=True, backend={CALL})(x)\n"),
        ('torch.compile(f, backend="inductor")(x)\n', f"torch.compile(f, backend={CALL})(x)\n"),
        ("m.compile()\n", f"m.compile(backend={CALL})\n"),
        ("@torch.compile\ndef f():\n    pass\n", f"@torch.compile(backend={CALL})\ndef f():\n    pass\n"),
        (
            "@partial(torch.compile, dynamic=True)\ndef f():\n    pass\n",
            f"@partial(torch.compile, dynamic=True, backend={CALL})\ndef f():\n    pass\n",
        ),
        ("torch.compile(\n    f,  # all\n)(x)\n", f"torch.compile(\n    f, backend={CALL}  # all\n)(x)\n"),
        ("torch.compile(\n    f  # all)\n)(x)\n", f"torch.compile(\n    f, backend={CALL}  # all)\n)(x)\n"),
        ("torch.compile(f, **x)\n", f'torch.compile(f, **{{**x, "backend": {CALL}}})\n'),
        ("w = torch.compile if x else abs\n", f"w = torch.compile(backend={CALL}) if x else abs\n"),
        ("for w in (abs, torch.compile):\n    w(f)\n", f"for w in (abs, torch.compile(backend={CALL})):\n    w(f)\n"),
    ],
)
def test_the_backend_can_be_chosen_from_outside(text, expected):
    head = "import torch\nfrom functools import partial\nf = m = x = 1\n"
    assert shaped(Script(head + text), "eager", "one\n\ntwo") == "# one\n#\n# two\nimport os\n" + head + expected


def test_a_value_that_is_given_more_arguments_later_keeps_them() -> None:
    text = "import torch\nwrap = torch.compile\nwrap(abs, dynamic=True)(3)\n"
    head = "import os\nimport functools\nimport torch\n"
    told = shaped(Script(text), "eager", "")
    assert told == f"{head}wrap = functools.partial(torch.compile, backend={CALL})\nwrap(abs, dynamic=True)(3)\n"
    assert shaped(Script(told), "eager", "") == told


@pytest.mark.parametrize("text", ["assert f is torch.compile\n", "print(torch.compile.__name__)\n"])
def test_looking_at_torch_compile_is_no_use_of_it(text: str) -> None:
    with pytest.raises(RefusedError, match="does not use"):
        shaped(Script(f"import torch\nf = 1\n{text}"), "eager", "")


def test_a_custom_backend_stays_the_default():
    text = "import torch\ndef own(gm, inputs):\n    pass\ntorch.compile(own, backend=own)\n"
    assert 'backend=os.environ.get("TORCH_COMPILE_BACKEND", own)' in shaped(Script(text), None, "")


def test_what_an_own_backend_is_told_is_told_to_no_other() -> None:
    text = "import torch\nf = torch.compile(abs, backend='own', options={'clamp': 1}, dynamic=False)\n"
    told = shaped(Script(text), None, "")
    assert """options=None if "TORCH_COMPILE_BACKEND" in os.environ else {'clamp': 1}, dynamic=False""" in told
    assert shaped(Script(told), None, "") == told
    assert "options={'clamp': 1}" in shaped(Script(text), "inductor", "")


def test_regular_expressions_are_not_compiled_by_torch():
    text = "import re\nimport torch\nre.compile('a')\ntorch.compile(re)\n"
    assert "re.compile('a')\n" in shaped(Script(text), "eager", "")


@pytest.mark.parametrize("text", ["a = \n", "print(1)\n", "import torch\ntorch.compile(f)\n", "return 3\n"])
def test_what_cannot_be_it_is_refused_before_it_is_run(text):
    with pytest.raises(RefusedError):
        shaped(Script(text), "eager", "")


def test_settings_of_inductor_go_below_inductor():
    text = 'torch.compile(f, mode="max-autotune", dynamic=True, options={}, backend="inductor")\n'
    assert plain(text, "eager") == "torch.compile(f, dynamic=True)\n"
    assert plain(text, "inductor") == 'torch.compile(f, mode="max-autotune", dynamic=True, options={})\n'
    assert plain(text, None) == text


def test_names_from_elsewhere():
    script = Script("import torch, os.path\nfrom . import a\nfrom pkg.m import b, c\nimport yaml\n")
    assert [len(names) for _, names in foreign_imports(script)] == [1, 2, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import multiprocessing as mp\n", True),
        ("from torch import distributed as dist\n", True),
        ("import torch.distributed as dist\n", True),
        ("import os\nos.fork()\n", True),
        ("DataLoader(d, num_workers=2)\n", True),
        ("DataLoader(d, num_workers=0)\n", False),
        ("import torch\nimport signals\n", False),
        ("from concurrent import futures\nfutures.ProcessPoolExecutor()\n", True),
        ("import torch\nsignal = torch.ones(3)\nsignal.clone()\nmap.fork()\n", False),
    ],
)
def test_scripts_that_need_a_process_of_their_own_are_noticed(text, expected):
    assert needs_own_process(text) is expected
