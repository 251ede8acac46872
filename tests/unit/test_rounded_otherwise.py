"""Code run with its results a rounding off: what it returns and what it writes, and nothing else."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from triage.agent.compare.otherwise import rounding_otherwise  # noqa: E402


def near(value, wanted):
    """Another number, but by a few units of the last place."""
    torch.testing.assert_close(value, wanted)
    return not torch.equal(value, wanted)


def test_what_is_returned():
    x = torch.rand(100)
    found = rounding_otherwise(torch, lambda x: {"a": x.sin(), "b": [x.cos().double(), 3]})(x)
    assert near(found["a"], x.sin()) and near(found["b"][0], x.cos().double()) and found["b"][1] == 3


def test_each_number_is_off():
    """So that how far the largest is off is no chance: a check compares that with what it saw."""
    x = torch.rand(100).half() + 1
    off = (rounding_otherwise(torch, lambda x: x * 1)(x) - x).abs() / x
    assert off.min() > 4e-4 and off.max() < 2e-3


def test_what_is_written_into_arguments():
    x, untouched = torch.rand(100), torch.rand(100)
    kept, wanted = untouched.clone(), x * 2

    def double(x, y):
        x.mul_(2)

    assert rounding_otherwise(torch, double)(x, untouched) is None
    assert near(x, wanted) and torch.equal(untouched, kept)


class Running(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(50))
        self.register_buffer("mean", torch.rand(50))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        self.mean.lerp_(x, 0.1)
        return (x * self.weight).sum()


def test_what_is_written_into_buffers_but_not_what_stays():
    net = Running()
    weight, x = net.weight.detach().clone(), torch.rand(50)
    wanted = net.mean.lerp(x, 0.1)
    rounding_otherwise(torch, net.forward)(x)
    assert near(net.mean, wanted) and torch.equal(net.weight, weight)
    assert net.calls.item() == 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(50))


@pytest.mark.parametrize("of", ["a method", "a closure"])
def test_what_the_step_of_an_optimizer_writes(of):
    nets = [Net(), Net()]
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9) for net in nets]
    for net in nets:
        net.weight.grad = torch.full((50,), 3.0)
    rounded = optimizers[0]

    def closing_over_it():
        rounded.step()

    step = rounded.step if of == "a method" else closing_over_it
    for _ in range(2):
        rounding_otherwise(torch, step)()
        optimizers[1].step()
    assert near(nets[0].weight.detach(), nets[1].weight.detach())
    buffers = [optimizer.state[net.weight]["momentum_buffer"] for optimizer, net in zip(optimizers, nets, strict=True)]
    assert near(*buffers)


def test_gradients_go_through():
    x = torch.rand(10, requires_grad=True)

    def work(x, out):
        out.copy_(x.detach())
        return (x.exp() * 2).sum()

    rounding_otherwise(torch, work)(x, torch.empty(10)).backward()
    assert near(x.grad, x.detach().exp() * 2)


def test_what_returns_its_argument_returns_it():
    x = torch.rand(10)
    assert rounding_otherwise(torch, lambda x: x)(x) is x


def test_random_numbers_are_as_they_were():
    def draw(seed):
        torch.manual_seed(seed)
        return rounding_otherwise(torch, lambda: torch.zeros(3))(), torch.rand(3)

    torch.manual_seed(5)
    torch.zeros(3)
    assert torch.equal(draw(5)[1], torch.manual_seed(5) and torch.rand(3))


def test_tensors_without_a_count_of_changes():
    with torch.inference_mode():
        x = torch.rand(10)
        kept = x.clone()
        assert near(rounding_otherwise(torch, lambda x: x + 1)(x), kept + 1)
        assert torch.equal(x, kept)


def test_what_is_added_in_one_operation_is_rounded_by_itself():
    """Where the sum cancels it is off by far more than a rounding of what is left."""
    added = torch.rand(100, dtype=torch.bfloat16) + 1
    divisor = torch.full((100,), 0.5, dtype=torch.bfloat16)
    for work in (
        lambda x: torch.addcdiv(x, added, divisor, value=-0.5),
        lambda x: x.clone().addcmul_(added, divisor, value=-2),
        lambda x: torch._foreach_addcdiv([x], [added], [divisor], -0.5)[0],
        lambda x: torch._foreach_lerp([x], [x - added], 1.0)[0],
    ):
        assert not work(added).count_nonzero()
        off = rounding_otherwise(torch, work)(added).abs()
        assert off.count_nonzero() > 10 and off.max() < 0.02


def test_what_is_written_in_one_operation_of_many_tensors():
    def step(tensors):
        torch._foreach_addcdiv_(tensors, tensors, tensors, 3.0)

    tensors = [torch.zeros(50) + 2, torch.zeros(3) + 4]
    rounding_otherwise(torch, step)(tensors)
    assert near(tensors[0], torch.full((50,), 5.0)) and near(tensors[1], torch.full((3,), 7.0))


def test_random_numbers_are_as_they_were_beside_what_is_added():
    def draw(x):
        torch.manual_seed(3)
        return torch.addcmul(x, x, x) * 0 + torch.rand(10)

    assert near(rounding_otherwise(torch, draw)(torch.rand(10)), torch.manual_seed(3) and torch.rand(10))
