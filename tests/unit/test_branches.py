"""Which import statements a candidate is forked behind. No torch."""

from __future__ import annotations

import pytest

from triage.trial.branches import imports_of


@pytest.mark.parametrize(
    ("source", "imports"),
    [
        ("import os\nimport torch\nimport torch.nn as nn\nfrom torch import nn\nimport numpy as np\n", ""),
        ("import os, einops\nfrom transformers import BertModel, BertConfig as C\n",
         "from transformers import BertConfig\nfrom transformers import BertModel\nimport einops"),
        ("import b\nimport a as x\nimport a\n", "import a\nimport b"),
        ("def f():\n    import einops\ntry:\n    import timm\nexcept ImportError:\n    pass\n", ""),  # as it always was
        ("from . import model\nfrom __future__ import annotations\n", ""),
        ("import einops\nreturn (", ""),
    ],
)  # fmt: skip
def test_imports_on_top_that_bring_more_than_torch(source: str, imports: str) -> None:
    assert imports_of(source) == imports
