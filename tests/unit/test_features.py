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
        # Operations, their modules, the check, the options of the compiler, and what torch gave back.
        ("import torch\nfrom torch import nn\nnn.Linear(1, 1)(torch.nn.functional.relu(torch.ones(1)))", ()),
        ("import torch\ntorch.testing.assert_close(torch.linalg.norm(x), torch.compile(f)(x).sum())", ()),
        ("import torch\ntorch._dynamo.config.suppress_errors = torch.Generator().manual_seed(0)", ()),
        ("import torch\ntorch.random.manual_seed(0)\nprint(torch.Tensor.add, torch.backends.mkldnn.enabled)", ()),
        ("func = 1\nfunc.jvp", ()),
        ("def (", ()),
    ],
)
def test_the_features_of_torch_that_a_text_uses(text: str, features: tuple[str, ...]) -> None:
    assert features_of(text) == features
