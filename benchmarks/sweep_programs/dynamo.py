"""Bugs of Dynamo, and what it refuses by design."""

from __future__ import annotations

from sweep_programs.forms import Bug

DECIMAL = """
from decimal import Decimal

PRICE = Decimal("{price}")
x = torch.randn({rows})
print(torch.compile(lambda x: {body})(x).sum())
"""
COUNTED = """

def make():
    {seen}

    class Meter:
        def touch(self, x):
            {touch}
            return x

    def step(x):
        return Meter().touch(x).{body}

    return step, seen


x = torch.randn({rows})
seen = []
for wrap in (lambda step: step, torch.compile):
    step, noted = make()
    step = wrap(step)
    for _ in range({calls}):
        step(x)
    seen.append(noted)
assert seen[0] == seen[1], f"uncompiled {{seen[0]}}, compiled {{seen[1]}}"
"""
STATE = """

class {name}:
    def __init__(self):
        self.{one}, self.{other} = object(), object()
        self.now = self.{one}


def step(x, state):
    first = state.now is state.{one}
    state.now = state.{other} if first else state.{one}
    return x.{body} if first else -x


def run(step):
    state, x = {name}(), torch.arange(1.0, {rows}.0)
    return [step(x, state) for _ in range({calls})]


torch.testing.assert_close(run(torch.compile(step)), run(step))
"""
SPREAD = """

@torch.compile{options}
def spread(x, w):
    return {body}


for rows in ({sizes}):
    print(spread(torch.randn(rows, {columns}), torch.rand(rows)).diagonal().sum())
"""
STACKED = """
from contextlib import ExitStack


def quiet():
    stack = ExitStack()
    stack.enter_context({mode})
    return stack


class Scaler(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear({rows}, 3)
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x):
        h = self.inner(x)
        with quiet():
            self.scale.lerp_(h.std(dim=0), 0.1)
        return h / self.scale.clamp(min=1e-3)


x = torch.randn(5, {rows})
print(Scaler()(x).std())
print(torch.compile(Scaler(), fullgraph=True)(x).std())
"""
EXCEPT_STAR = """

def guarded(x):
    errors = 0
    try:
        raise ExceptionGroup("{title}", [{errors}])
    except* {one}:
        errors += 1
    return x.{body} + errors


x = torch.randn({rows})
print(guarded(x))
print(torch.compile(guarded, fullgraph=True)(x))
"""

BUGS = (
    Bug(
        "float_of_decimal",
        "dynamo",
        (
            DECIMAL.format(price="0.0025", rows=4, body="x.sum() * float(PRICE)"),
            DECIMAL.format(price="17", rows=9, body="(x + float(PRICE)).relu()"),
            """
from decimal import Decimal


class Basket(torch.nn.Module):
    rate = Decimal("0.19")

    def forward(self, x):
        return x * (1.0 + float(self.rate))


print(torch.compile(Basket())(torch.randn(3)))
""",
        ),
    ),
    Bug(
        "break_under_fullgraph",
        "dynamo",
        (
            *tuple(
                f"""

@torch.compile(fullgraph=True)
def step(x):
    {line}
    return x.sin()


print(step(torch.randn({rows})).sum())
"""
                for rows, line in ((3, "print('a step')"), (7, "torch._dynamo.graph_break()"))
            ),
        ),
        "known_cause",
    ),
    Bug(  # pytorch/pytorch#197896
        "closure_of_a_method",
        "dynamo",
        (
            COUNTED.format(seen="seen = []", touch="seen.append(1)", body="sin()", rows=3, calls=3),
            COUNTED.format(seen='seen = {"n": 0}', touch='seen["n"] += 1', body="relu() + 1", rows=5, calls=2),
        ),
    ),
    Bug(  # pytorch/pytorch#196173
        "identity_not_guarded",
        "dynamo",
        (
            STATE.format(name="PingPong", one="left", other="right", body="square()", rows=4, calls=6),
            STATE.format(name="Phase", one="even", other="odd", body="exp()", rows=7, calls=5),
        ),
    ),
    Bug(
        "except_star",
        "dynamo",
        (
            EXCEPT_STAR.format(title="g", errors="ValueError(1)", one="ValueError", body="sin()", rows=3),
            EXCEPT_STAR.format(title="all", errors="KeyError(2), KeyError(3)", one="KeyError", body="relu()", rows=6),
        ),
    ),
    Bug(
        "covariance_of_any_rows",
        "dynamo",
        (
            SPREAD.format(options="", body="torch.cov(x.T, aweights=w)", sizes="32, 48", columns=4),
            SPREAD.format(options="", body="torch.cov((x - x.mean(0)).T, aweights=w) * 2", sizes="9, 6", columns=3),
            SPREAD.format(options="(dynamic=True)", body="torch.cov(x.T.tanh(), aweights=w)", sizes="7, 5", columns=2),
        ),
    ),
    Bug(
        "stack_of_contexts",
        "dynamo",
        (
            STACKED.format(mode="torch.set_grad_enabled(False)", rows=6),
            STACKED.format(mode="torch.no_grad()", rows=4),
        ),
    ),
)
