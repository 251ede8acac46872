"""Other spellings of one call: what a helper does around it, called in its place, and stays in the graph.

`Spelling` says how. That it helps has been seen on the reproducer (a variant with this one thing changed passes), and is seen
again on the program before it is told.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Spelling:
    """`suffix` ends the helper's name, `words` tell it with the call at {}; `given` is what becomes of a tensor `each`."""

    suffix: str
    words: str
    decorator: str | None = None
    given: str | None = None
    result: str = "{}"
    rounds: bool = False  # its values may differ in the last digits

    def helper(self, name: str, parameters: str, call: str) -> list[str]:
        """The lines of a helper with these parameters that does this call."""
        lines = ["", "", *((self.decorator,) if self.decorator else ()), f"def {name}({parameters}):"]
        tensors = [each for each in parameters.split(", ") if each not in ("function", "**kwargs")]
        if self.given is not None:
            source = tensors[0].lstrip("*") if len(tensors) == 1 else f"({', '.join(tensors)})"
            names = tensors[0].lstrip("*") if len(tensors) == 1 else ", ".join(tensors)
            lines.append(f"    {names} = [{self.given} for each in {source}]")
        return [*lines, f"    return {self.result.format(call)}"]


UNCOMPILED = Spelling("uncompiled", "Run `{}` uncompiled", decorator="@torch.compiler.disable")
CONTIGUOUS = Spelling(
    "contiguous", "Give `{}` contiguous tensors", given="each.contiguous() if isinstance(each, torch.Tensor) else each"
)


def in_another_dtype(old: str, new: str) -> Spelling:
    """The call in `new`, its result as before: dtypes as torch names them (bfloat16)."""
    return Spelling(
        f"in_{new}",
        f"Do `{{}}` in {new}",
        given=f"each.to(torch.{new}) if isinstance(each, torch.Tensor) and each.dtype == torch.{old} else each",
        result=f"{{}}.to(torch.{old})",
        rounds=True,
    )
