"""A script with a harmless function in the place of each one that it compiles.

What a backend, a pass or a hook of the program's own raises must hang on what is compiled: `raise` behind `if node:` fails
for every program. So a candidate is also run like this, where the program's own statement raised: each `torch.compile`
compiles and calls a function with one operation, spelled as a function and as a method, and gives back the script's
function as it is.
"""

from __future__ import annotations

from triage.reduce.text.code.script import Script, after_future

# Indented as one statement, with names that no script has.
_PRELUDE = """\
def _triage_harmless():
    import torch

    compile = torch.compile

    def harmless(model=None, **options):
        if model is None:
            return lambda model: harmless(model, **options)
        compile(lambda x: torch.neg(x).neg(), **options)(torch.ones(2, requires_grad=True)).sum().backward()
        return model

    torch.compile = harmless


_triage_harmless()
"""


def with_harmless(text: str) -> str:
    """The script, preceded by what exchanges the functions it compiles."""
    return after_future(Script(text), _PRELUDE)
