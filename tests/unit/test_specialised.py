"""Which operation made a constant of a size that was marked as dynamic, as the message tells."""

import pytest
from failed_programs import failed

from triage.judge.likeness import same_failure
from triage.judge.specialised import specialised_by

WORDS = "Constraints violated (L['x'].size()[0])!\n  - You marked L['x'].size()[0] as dynamic but it is a constant (8)."
PLACE = ("torch/fx/experimental/symbolic_shapes.py", "produce_guards_verbose")


def line(code: str, function: str = "forward", marks: bool = True) -> str:
    marked = f"    {'^' * len(code)}\n" if marks else ""
    return f'  File "model.py", line 7, in {function}\n    {code}\n{marked}'


def told(*lines: str) -> str:
    return f"{WORDS}\n\nUser stack:\n{''.join(lines)}"


@pytest.mark.parametrize(
    ("message", "operations"),
    [
        (told(line("return x * self.scale")), ("mul",)),
        (told(line("return x * self.scale", marks=False)), ("mul",)),  # of a Python before 3.11
        (told(line("y = torch.mul(x, scale) + 1")), ("add", "mul")),
        (told(line("x @= w")), ("matmul",)),
        (told(line("return self.head(x)"), line("F.linear(x, w)", "f")), ("linear",)),
        (told(line("return self.head(x)", marks=False), line("F.linear(x, w)", "f", marks=False)), ("linear",)),
        (told(line("return x.view(8, -1)")) + "\n  - You marked another one.", ("view",)),
        (told(line("if x.shape[0] == size(y):")), ("size",)),
        (told(line("y = x[:, 0]")), ()),
        (told(line("y = torch.stack([")), ()),  # it goes on in the next line
        (told(), ()),
        (WORDS, ()),
        ("shape mismatch", ()),
    ],
)
def test_the_innermost_line_tells_what_it_may_have_been(message: str, operations: tuple[str, ...]) -> None:
    assert specialised_by(message) == operations


def test_where_both_tell_it_another_one_is_another_failure() -> None:
    star, longer, layer, untold = (
        failed("torch.fx.experimental.symbolic_shapes.ConstraintViolationError", message, PLACE)
        for message in (told(line("x * y")), told(line("(x * y).sin()")), told(line("F.linear(x, w)")), told())
    )
    assert star.skeleton == layer.skeleton and star.frames == layer.frames
    assert same_failure(star, longer) and not same_failure(star, layer)
    assert same_failure(star, untold) and same_failure(layer, untold)
    assert star.fingerprint == layer.fingerprint  # it has one face
