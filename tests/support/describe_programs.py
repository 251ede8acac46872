"""Captures real graphs, prints them, runs the printed scripts and captures again: one torch process for all of them.

Usage: describe_programs.py OUT.json [NAME...]. A helper of test_describe.py, not a test.
"""

# ruff: noqa: E402, N812, BLE001 - the agent is loaded first, F is torch's own habit, and any failure is a result here
import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
import traceback
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "triage" / "agent")]
boot = importlib.import_module("boot")
sys.path.pop(1)
boot.load_agent()

import torch
import torch._dynamo
import torch.nn.functional as F
from _triage_agent.capture import describe
from torch import nn

from triage.model.codec import decode
from triage.model.graphcase import GraphCase
from triage.reduce.printing.printer import Form, Unprintable, print_case

CAPTURED: list = []
RECORD = {"values": False}


def capture(gm, example_inputs, **_):
    CAPTURED.append(
        describe.graph_case(
            gm, example_inputs, level="dynamo", context=describe.current_context(), record_values=RECORD["values"]
        )
    )
    return gm.forward


def capture_aten(gm, example_inputs, **_):
    from torch._functorch.aot_autograd import make_boxed_func
    from torch._inductor.compile_fx import compile_fx

    def inner(graph, inputs, *args, **kwargs):
        direction = "backward" if kwargs.get("is_backward") else "forward"
        CAPTURED.append(
            describe.graph_case(
                graph,
                inputs,
                level="aten",
                direction=direction,
                context=describe.current_context(),
                backend="capture_aten",
            )
        )
        return make_boxed_func(graph.forward)

    return compile_fx(gm, example_inputs, inner_compile=inner)


torch._dynamo.register_backend(capture, name="capture")
torch._dynamo.register_backend(capture_aten, name="capture_aten")
PROGRAMS: dict = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def compiled(function, **options):
    return torch.compile(function, **{"backend": "capture", **options})


@program
def linear_relu():
    lin = nn.Linear(4, 3)
    compiled(lambda x: torch.relu(lin(x)).sum())(torch.randn(5, 4))


@program
def tensor_constant():
    table = torch.tensor([1.0, 2.0, float("inf")])
    compiled(lambda x: x * table + torch.tensor([1, 2, 3]))(torch.randn(2, 3))


@program
def aliased_and_mutated():
    def fn(base, part):
        base.add_(100)
        return part[0] * 2

    base = torch.arange(24.0).reshape(4, 6)
    compiled(fn)(base, base[1:])


@program
def classic_tensor_constant():
    """torch.fx lifts the tensor to `_tensor_constant0`, which PyTorch's own minifier loses (#100468)."""
    traced = torch.fx.symbolic_trace(lambda x: x * torch.tensor([1.0, 2.0]) + torch.ones(3, 1)[:1])
    CAPTURED.append(describe.graph_case(traced, [torch.randn(3, 2)], level="dynamo"))


@program
def recorded_values():
    RECORD["values"] = True
    try:
        x = torch.tensor([[1.5, float("nan"), -0.0], [float("inf"), 0.1, 1e-30]])
        compiled(lambda x, y, i: (x.nan_to_num(), y * 2, x[i], i.new_full((2,), 7)))(
            x, torch.tensor([[1.0, 2.0]]).expand(3, 2), torch.tensor([1, 0])
        )
    finally:
        RECORD["values"] = False


@program
def nested_compiled():
    inner = compiled(lambda x: x.exp())
    compiled(lambda x: inner(x * 2) + inner(x))(torch.randn(3))


@program
def float_input():
    with torch._dynamo.config.patch(specialize_float=False):
        compiled(lambda x, s: x * s, dynamic=True)(torch.randn(3), 0.5)


@program
def setitem_and_iadd():
    def fn(x, y):
        y = y.clone()
        y[1:, 0] = x.sum()
        y += x
        return y

    compiled(fn)(torch.randn(3, 3), torch.randn(3, 3))


@program
def expanded_strides():
    compiled(lambda x, y: x + y)(torch.randn(3, 1).expand(3, 5), torch.randn(5).expand(3, 5))


@program
def strange_strides():
    def fn(a, b, c, d, e):
        return a + 1, b + 1, c + 1, d + 1, e + 1

    big = torch.randn(4, 8)
    compiled(fn)(
        torch.randn(4, 3).t(),
        big[1:3, 2:6],
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.randn(10)[::3],
        torch.randn(2, 3, 4).permute(2, 0, 1),
    )


@program
def zero_d_and_empty():
    compiled(lambda s, e: (s * 2, e.sum(0), torch.cat([e, e])))(torch.tensor(3.0), torch.randn(0, 4))


@program
def dynamic_sizes():
    def fn(x, n):
        y = x.view(x.shape[0] * x.shape[1])
        return y[: x.shape[0] // 2] * n, torch.zeros(x.shape[0] + n)

    compiled(fn, dynamic=True)(torch.randn(6, 4), 3)


@program
def mixed_dtypes():
    def fn(h, i, b, z, f8):
        return h.float() + i, b & (i > 1), z.conj() * 2, f8.to(torch.float32)

    compiled(fn)(
        torch.randn(4, dtype=torch.float16),
        torch.tensor([0, 1, 2, 3]),
        torch.tensor([True, False, True, True]),
        torch.randn(3, dtype=torch.complex64),
        torch.randn(3).to(torch.float8_e4m3fn),
    )


@program
def tuples_and_lists():
    def fn(x, y):
        stacked = torch.stack([x, y, x + y])
        parts = torch.split(stacked, [1, 2])
        return torch.cat(tuple(parts), dim=0), x.permute((1, 0)), torch.einsum("ij,kj->ik", x, y)

    compiled(fn)(torch.randn(3, 3), torch.randn(3, 3))


@program
def multi_output():
    def fn(x):
        values, indices = x.max(1)
        mean, _ = torch.var_mean(x, dim=1)
        return values, x.gather(1, indices[:, None]), mean, torch.topk(x, 2).values

    compiled(fn)(torch.randn(3, 5))


@program
def autocast_and_no_grad():
    def fn(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ w
            with torch.no_grad():
                z = y.float().exp()
        return y.float() + z

    compiled(fn)(torch.randn(3, 4), torch.randn(4, 2, requires_grad=True))


@program
def random_ops():
    def fn(x):
        return F.dropout(x, 0.5) + torch.rand_like(x), torch.randn(3)

    compiled(fn)(torch.randn(4, 4))


@program
def autograd_function():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, k):
            ctx.save_for_backward(x, w)
            ctx.k = k
            return x * w * k, x.sum()

        @staticmethod
        def backward(ctx, g, h):
            x, w = ctx.saved_tensors
            return g * w * ctx.k + h, g * x * ctx.k, None

    def fn(x, w):
        a, b = Scale.apply(x, w, 3)
        return a + b

    compiled(fn)(torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)).sum().backward()


@program
def conditional():
    w = torch.randn(3)

    def fn(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin() * w, lambda x: x.cos(), (x,))

    compiled(fn)(torch.randn(3))


@program
def checkpointed():
    from torch.utils.checkpoint import checkpoint

    compiled(lambda x, w: checkpoint(lambda y: torch.relu(y @ w), x, use_reentrant=False) * 2)(
        torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
    )


@program
def while_loop():
    from torch._higher_order_ops.while_loop import while_loop

    def fn(i, x):
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x))

    compiled(fn)(torch.tensor(0), torch.randn(3))


@program
def scanned():
    from torch._higher_order_ops.scan import scan

    def fn(init, xs):
        return scan(lambda c, x: (c + x, c * x), init, xs)

    compiled(fn)(torch.randn(3), torch.randn(4, 3))


@program
def flex():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def causal(b, h, q, k):
        return q >= k

    mask = create_block_mask(causal, None, None, 128, 128, device="cpu")

    def fn(q, k, v):
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j), block_mask=mask)

    compiled(fn)(*(torch.randn(1, 1, 128, 16) for _ in range(3)))


@program
def functions_of_modules():
    compiled(lambda x: torch.linalg.norm(torch.fft.fft(torch.special.expit(torch.masked.softmin(x, 0))).abs()))(
        torch.randn(3)
    )


@program
def shared_parameter():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(10, 4)
            self.out = nn.Linear(4, 10, bias=False)
            self.out.weight = self.emb.weight
            self.norm = nn.BatchNorm1d(4)

        def forward(self, ids):
            return self.out(self.norm(self.emb(ids)))

    compiled(Tied())(torch.randint(0, 10, (5,)))


@program
def not_inlined_modules():
    with torch._dynamo.config.patch(inline_inbuilt_nn_modules=False):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
        compiled(model)(torch.randn(2, 3, 8, 8))


@program
def odd_arguments():
    def fn(x):
        y = torch.full_like(x, float("-inf"), dtype=torch.float64, device="cpu").masked_fill(x > 0, float("nan"))
        z = x.to(memory_format=torch.channels_last)[..., None, ::2]
        return y, z, torch.lerp(x.to(torch.complex64), x.to(torch.complex64), 0.3 + 0.2j), x.T if x.dim() == 2 else x.mT

    compiled(fn)(torch.randn(2, 3, 4, 4))


@program
def inference():
    with torch.inference_mode():
        compiled(lambda x: x.sigmoid())(torch.randn(3))


@program
def inplace_on_parameter_view():
    def fn(x, w):
        h = x * w
        h[:, 0].mul_(2)
        return F.relu(h, inplace=True).sum()

    compiled(fn)(torch.randn(3, 3), torch.randn(3, requires_grad=True))


@program
def aten_training_step():
    lin, norm = nn.Linear(8, 8), nn.LayerNorm(8)

    def fn(x, i):
        h = F.gelu(norm(lin(x)))[:, 1:].softmax(-1)
        return F.dropout(h[i], 0.2).to(torch.bfloat16).float().var(1).mean()

    compiled(fn, backend="capture_aten")(torch.randn(6, 8), torch.tensor([1, 2, 0])).backward()


@program
def aten_convolution():
    conv, norm = nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4)

    def fn(x):
        return F.interpolate(F.max_pool2d(torch.relu(norm(conv(x))), 2), scale_factor=2).sum()

    compiled(fn, backend="capture_aten")(torch.randn(2, 3, 13, 13)).backward()


@program
def aten_dynamic():
    def fn(x, n):
        y = x.reshape(x.shape[0] * 2, -1)
        return torch.cat([y, y[n:]]) + torch.arange(y.shape[1]), x.new_zeros(x.shape[0] + 1).fill_(float("inf"))

    compiled(fn, backend="capture_aten", dynamic=True)(torch.randn(6, 4, requires_grad=True), 3)[0].sum().backward()


@program
def aten_constants_and_mutation():
    def fn(x, k):
        x.mul_(torch.tensor([1.0, 2.0, 3.0]))
        k[0] += 1
        return x.sort()[1], x.view(-1).tolist() if False else x.t().contiguous()

    compiled(fn, backend="capture_aten")(torch.randn(2, 3), torch.zeros(4))


@program
def aten_embedding_loss():
    emb = nn.Embedding(10, 6)

    def fn(ids, target):
        return F.cross_entropy(emb(ids) @ emb.weight.T, target)

    compiled(fn, backend="capture_aten")(torch.randint(0, 10, (7,)), torch.randint(0, 10, (7,))).backward()


@program
def aten_attention():
    def fn(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).sum()

    compiled(fn, backend="capture_aten")(*(torch.randn(2, 2, 8, 4, requires_grad=True) for _ in range(3))).backward()


@program
def vmap_and_grad():
    def fn(x):
        return torch.vmap(lambda r: r.sin().sum())(x), torch.func.grad(lambda t: (t * t).sum())(x)

    compiled(fn)(torch.randn(3, 3))


@program
def nested_region():
    w = torch.randn(3)

    @torch.compiler.nested_compile_region
    def region(x):
        return x.sin() + w

    compiled(lambda x: region(x) + region(x * 2))(torch.randn(3))


@program
def forward_mode():
    compiled(torch.func.jacfwd(lambda x: (x @ x.T).sin().sum(0)))(torch.randn(3, 3))


@program
def offsets():
    bag = nn.EmbeddingBag(10, 4, mode="sum", include_last_offset=True)
    compiled(bag)(torch.tensor([1, 2, 3, 4]), torch.tensor([0, 2, 4]))


@program
def lazy_conjugate():
    compiled(lambda x: x.real + x.imag)(torch.randn(3, dtype=torch.complex64).conj())


@program
def known_zero():
    leaf = torch.randn(3, requires_grad=True)
    (grad,) = torch.autograd.grad(torch.sgn(leaf).sum(), leaf)
    compiled(lambda x: x[-1] + 10)(grad)


def run(name, function):
    torch._dynamo.reset()
    CAPTURED.clear()
    torch.manual_seed(1)
    function()
    return [{"case": case, **replay(name, case)} for case in list(CAPTURED)]


def replay(name, data):
    case = decode(GraphCase, json.loads(json.dumps(data)))
    answer = {}
    for form in ("nice", "exact"):
        try:
            source = print_case(case, form=Form() if form == "nice" else Form(nice=False))
        except Unprintable as error:
            answer[form] = {"unprintable": str(error)}
            continue
        answer[form] = {"source": source, **execute(source, "capture" if case.level == "dynamo" else "capture_aten")}
    return answer


def execute(source, backend="capture"):
    torch._dynamo.reset()
    CAPTURED.clear()
    os.environ["TORCH_COMPILE_BACKEND"] = backend
    directory = tempfile.mkdtemp()
    path = Path(directory) / "repro.py"
    path.write_text(source)
    module = types.ModuleType(f"repro_{len(sys.modules)}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, str(path), "exec"), module.__dict__)
    except Exception:
        return {"error": traceback.format_exc(limit=-3)}
    return {"cases": list(CAPTURED)}


def main(out, names):
    results = {}
    for name, function in PROGRAMS.items():
        if names and name not in names:
            continue
        try:
            results[name] = run(name, function)
        except Exception:
            results[name] = traceback.format_exc()
    Path(out).write_text(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
