"""Which names of a reproducer tell what Dynamo has wrong."""

from __future__ import annotations

import pytest

from triage.culprit.features import features_of


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("import torch\nfrom torch.func import jvp as j\nj(torch.sin, (1,))", ("torch.func.jvp",)),
        ("import torch\nclass F(torch.autograd.Function): pass\nF.apply(1)", ("torch.autograd.Function",)),
        ("import torch.utils.checkpoint as c\nc.checkpoint(f)(1).sum()", ("torch.utils.checkpoint.checkpoint",)),
        ("import torch\nprint(torch.vmap(f)(x))", ("torch.vmap",)),
        # Operations, their modules, the check, the options of the compiler, and what torch gave back.
        ("import torch\nfrom torch import nn\nnn.Linear(1, 1)(torch.nn.functional.relu(torch.ones(1)))", ()),
        ("import torch\ntorch.testing.assert_close(torch.linalg.norm(x), torch.compile(f)(x).sum())", ()),
        ("import torch\ntorch._dynamo.config.suppress_errors = torch.Generator().manual_seed(0)", ()),
        ("import torch\ntorch.random.manual_seed(0)\nprint(torch.Tensor.add, torch.backends.mkldnn.enabled)", ()),
        (
            "import torch\n@torch.compiler.nested_compile_region\ndef f(): pass",
            ("torch.compiler.nested_compile_region",),
        ),
        ("import torch\nf = torch.compiler.disable(torch.compiler.reset)\nprint(torch.compiler.is_compiling())", ()),
        # What Dynamo replaces or models, where a function calls it; not the data that is made for it.
        ("import numpy as np\ndef f():\n    return np.cumsum(x).astype(np.int8)\nx = np.arange(3)", ("numpy.cumsum",)),
        ("import torch, numpy as np\ntorch.compile(np.cumsum)(np.ones(2))", ("numpy.cumsum",)),
        ("from collections import deque\ndef f(y):\n    z = deque(maxlen=0)\n    z.append(y)", ("collections.deque",)),
        (
            "import torch\ndef f():\n    torch.use_deterministic_algorithms(True)",
            ("torch.use_deterministic_algorithms",),
        ),
        ("import torch\ntorch.set_default_dtype(torch.float64)", ()),  # what holds for all of it, set before
        ("import torch\ndef f(x):\n    return torch.Tensor(x.size()), x.to(torch.FloatTensor)", ("torch.Tensor",)),
        ("import random\ndef f():\n    random.seed(0)\n    return random.Random(1).random()", ("random.Random",)),
        ("class Scope(set):\n    pass\nclass Net(torch.nn.Module): pass", ("a subclass of set",)),
        # A container that the program holds; types of the abstract ones are no containers.
        ("import collections\nd = collections.deque(maxlen=1)\ndef f(x): d.append(x)", ("collections.deque",)),
        ("import collections.abc\nisinstance(f, collections.abc.Callable)", ()),
        # What of the language Dynamo plays itself.
        ("def f(x):\n    rest = yield from g(x)\ndef g(x):\n    yield x\n    return 1", ("yield from",)),
        ("def g(x):\n    yield x\n    return 1", ("a generator",)),
        (
            "class Made(type):\n    def __call__(cls): pass\nclass Thing(metaclass=Made):\n    def __init__(self): pass",
            ("a metaclass", "__call__"),
        ),
        ("class Lazy:\n    def __getattr__(self, name): return name\n    def read(self): pass", ("__getattr__",)),
        # An operation that is a value, and not called by its name.
        ("import torch\nf = torch.Tensor.__add__\nx = torch.Tensor.add(y, 1)", ("torch.Tensor.__add__",)),
        (
            "import torch\nops = {'*': torch.Tensor.mul}\ntorch.compile(torch.Tensor.neg)(1)",
            ("torch.Tensor.mul", "torch.Tensor.neg"),
        ),
        ("func = 1\nfunc.jvp", ()),
        ("def (", ()),
    ],
)
def test_the_features_of_torch_that_a_text_uses(text: str, features: tuple[str, ...]) -> None:
    assert features_of(text) == features
