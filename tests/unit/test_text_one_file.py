"""From a program in several files to one text: bundling, and the first cut."""

from __future__ import annotations

import pytest

from triage.reduce.text.code.tidy import tidy
from triage.reduce.text.starts.bundle import Part, UnbundledError, bundle
from triage.reduce.text.starts.executed import executed_part


def bundled(**texts: str) -> str:
    """Modules by name (`a__b` is a.b), the script is `main`; names of packages end in `_`."""
    parts = {}
    for key, text in texts.items():
        package = key.endswith("_")
        name = "__main__" if key == "main" else key.strip("_").replace("__", ".")
        parts[name] = Part(name, text, name if package else name.rpartition(".")[0])
    return tidy(bundle(parts).text)


@pytest.mark.parametrize(
    "text",
    [
        "from m import f\nf()\n",
        "import m\nm.f()\n",
        "import m as other\nother.f()\n",
        "from m import f as g\ng()\n",
        "from m import *\nf()\n",
    ],
)
def test_however_it_is_imported(text):
    assert bundled(main=text, m='"""Doc."""\n__all__ = ["f"]\ndef f():\n    pass\n') == "def f():\n    pass\n\nf()\n"


def test_an_import_within_a_function():
    text = "def g():\n    from m import f as h\n    return h()\ng()\n"
    assert (
        bundled(main=text, m="def f():\n    pass\n")
        == "def f():\n    pass\n\ndef g():\n    h = f\n    return h()\n\ng()\n"
    )


@pytest.mark.parametrize("text", ["from . import a\na.b(1)\n", "from .a import b\nb(1)\n"])
def test_a_name_hides_a_module_of_that_name(text):
    texts = {"main": "import pkg.c\n", "pkg_": "", "pkg__c": text, "pkg__a_": "from .b import b\n"}
    assert bundled(**texts, pkg__a__b="def b(x):\n    pass\n") == "def b(x):\n    pass\n\nb(1)\n"


def test_packages_and_relative_imports():
    texts = {
        "main": "import pkg\nfrom pkg.a import one\npkg.two(one)\npkg.b.three()\n",
        "pkg_": "from . import b\nfrom .b import two\n",
        "pkg__a": "from .b import two\nfrom math import pi\none = two(pi)\n",
        "pkg__b": "def two(x):\n    return x\ndef three():\n    pass\n",
    }
    assert bundled(**texts) == (
        "def two(x):\n    return x\n\ndef three():\n    pass\n\nfrom math import pi\n\none = two(pi)\n\ntwo(one)\nthree()\n"
    )


def test_the_script_keeps_its_names_and_others_give_way():
    text = bundled(
        main="import m\ndef run():\n    return m.run()\nrun()\n",
        m="def run():\n    return limit\nlimit = 3\ndef use(run):\n    return run\nuse(1)\n",
    )
    assert "def run_2():\n    return limit\n" in text
    assert "def use(run):\n    return run\n" in text
    assert "def run():\n    return run_2()\n" in text


def test_one_import_in_two_modules_is_one_name():
    text = bundled(main="import torch.nn as nn\nimport m\nnn.X(m.y)\n", m="import torch.nn as nn\ny = nn.Y\n")
    assert "nn_2" not in text


def test_what_runs_only_as_a_script_goes():
    text = bundled(
        main="import m\nm.f(__name__)\n",
        m="def f(x):\n    return x\nlog = __name__\nif __name__ == '__main__':\n    f(1)\n",
    )
    assert text == "def f(x):\n    return x\n\nlog = 'm'\n\nf(__name__)\n"


def test_future_imports_stay_on_top():
    text = bundled(main="from m import f\nf()\n", m="from __future__ import annotations\ndef f():\n    pass\n")
    assert text.startswith("from __future__ import annotations\n")


def test_a_module_that_is_passed_around_cannot_be_put_into_one_file():
    with pytest.raises(UnbundledError):
        bundled(main="import m\nprint(m)\n", m="x = 1\n")


def test_what_was_not_executed_goes():
    text = (
        "import a\n"
        "def f(x):\n"  # 2
        "    'Doc.'\n"
        "    if x:\n"  # 4
        "        return 1\n"
        "    else:\n"
        "        y = 2\n"  # 7
        "    return y\n"
        "def g():\n"  # 9
        "    return 3\n"
        "f(0)\n"  # 11
        "f(1)\n"
    )
    assert tidy(executed_part(text, {1, 2, 4, 7, 8, 9, 11})) == (
        "import a\n\ndef f(x):\n    if x:\n        pass\n    else:\n        y = 2\n    return y\n\nf(0)\n"
    )


def test_a_package_keeps_what_it_is_called():
    reads = "def read():\n    return files(__package__), __name__\n"
    text = bundled(main="from pkg.m import read\nread()\n", pkg_="", pkg__m=reads)
    assert "return files('pkg'), 'pkg.m'" in text
