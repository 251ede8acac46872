"""Every way of making an input gives the recorded shape, strides, offset and dtype; checked by making it."""

from __future__ import annotations

import itertools

import pytest

from triage.agent.capture.inputs import _view_of
from triage.model.codec import decode
from triage.model.graphcase import GraphCase, GraphInput, TensorMeta
from triage.reduce.printing import fills
from triage.reduce.printing.inputs import _creation

NOTHING = GraphCase("dynamo", (), (), ())

pytestmark = pytest.mark.e2e
torch = pytest.importorskip("torch")


def layouts() -> list[torch.Tensor]:
    """Tensors as programs have them: permuted, expanded, sliced, strided, of no or one element."""
    base = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
    found = [base.permute(order) for order in itertools.permutations(range(4))]
    found += [
        base[1],
        base[:, 1:],
        base[..., ::2],
        base[:, :, 2:3],
        base[1, 2, 3],
        base[1:, 1:, 1:, 2:4],
        base[:, :0],
        base[0].mT,
    ]
    found += [torch.randn(shape) for shape in [(), (0,), (1,), (3, 0, 2), (1, 1), (5, 1)]]
    found += [
        torch.randn(3, 1).expand(3, 4),
        torch.randn(4).expand(2, 3, 4),
        torch.randn(()).expand(2, 2),
        torch.randn(1, 3, 1).expand(2, 3, 5),
    ]
    found += [
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.randn(3, 5).t()[1:],
        torch.randn(9).as_strided((2, 3), (2, 1), 1),
    ]
    found += [
        torch.randn(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d),
        torch.randn(6, 4)[::2],
        torch.randn(8, 8)[2:5, 3:],
    ]
    return found


def recorded(tensor: torch.Tensor, **rest: object) -> TensorMeta:
    name = str(tensor.dtype).removeprefix("torch.")
    return TensorMeta(tuple(tensor.shape), tensor.stride(), name, storage_offset=tensor.storage_offset(), **rest)


def same(tensor: torch.Tensor, meta: TensorMeta) -> bool:
    strides = tensor.numel() == 0 or fills.same_strides(meta.shape, tensor.stride(), meta.stride)
    offset = tensor.numel() == 0 or tensor.storage_offset() == meta.storage_offset
    return tuple(tensor.shape) == meta.shape and strides and offset and str(tensor.dtype) == f"torch.{meta.dtype}"


@pytest.mark.parametrize("requires_grad", [False, True])
def test_layouts_are_made_again(requires_grad: bool) -> None:
    for tensor in layouts():
        meta = recorded(tensor, requires_grad=requires_grad)
        for item in (GraphInput("x", meta=meta), GraphInput("x", meta=meta, fill="values", data=tensor.tolist())):
            text = fills.creation(item, requires_grad=requires_grad)
            made = eval(text)
            if item.fill != "values" or not meta.storage_offset:
                assert same(made, meta), text
            assert made.requires_grad == requires_grad and made.is_leaf, text
            if item.fill == "values":
                assert torch.equal(made, tensor), text


@pytest.mark.parametrize("fill", ["randn", "rand", "zeros", "ones", "arange", "randint:0:2", "randint:3:9", "empty"])
def test_every_dtype_can_be_made(fill: str) -> None:
    for dtype in sorted(fills.DTYPES - {"complex32"}):
        if not hasattr(torch, dtype):
            continue
        for shape in [(2, 3), (), (0, 2)]:
            meta = TensorMeta(shape, fills.contiguous(shape), dtype)
            text = fills.creation(GraphInput("x", meta=meta, fill=fill), requires_grad=False)
            assert same(eval(text), meta), text


def test_views_of_earlier_inputs_share_their_storage() -> None:
    for base in layouts():
        if base.numel() < 2:
            continue
        base = torch.randn(base.untyped_storage().size() // 4).as_strided(
            base.shape, base.stride(), base.storage_offset()
        )
        views = [base, base[:1], base[0], base.select(-1, 0), base.transpose(0, -1), base.unsqueeze(0), base[..., 1:]]
        views += [base.reshape(-1)] if base.is_contiguous() else []
        for view in views:
            suffix = fills.view_of(recorded(base), recorded(view))
            x = eval(fills.creation(GraphInput("x", meta=recorded(base)), requires_grad=False))
            if suffix is None:
                continue
            made = eval("x" + suffix)
            assert made.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
            assert tuple(made.shape) == tuple(view.shape), suffix
            assert view.numel() == 0 or fills.same_strides(tuple(view.shape), made.stride(), view.stride()), suffix
            distance = view.storage_offset() - base.storage_offset()
            assert view.numel() == 0 or made.storage_offset() - x.storage_offset() == distance, suffix


def test_views_are_views_of_the_same_base() -> None:
    whole = torch.randn(6, 12)
    for tensor in [whole[2:], whole.t(), whole.view(-1), whole[1], whole[0, 0], whole[:, ::2], whole.unfold(1, 4, 2)]:
        base = decode(TensorMeta, _view_of(tensor))
        made = eval(_creation(NOTHING, GraphInput("x", meta=recorded(tensor), view_of=base), changed=False))
        assert same(made, recorded(tensor)) and made._is_view() and made._base.shape == whole.shape
    assert _view_of(whole) is None and _view_of(whole.detach()) is None


def test_strides_are_readable() -> None:
    texts = [fills.creation(GraphInput("x", meta=recorded(item)), requires_grad=False) for item in layouts()]
    assert sum("as_strided" in text for text in texts) <= 5


def test_what_a_tensor_leaves_undone_is_made_again() -> None:
    """Lazy conjugates and negatives, and gradients that are known to be zero: generated code reads their storage."""
    z = torch.randn(3, 4, dtype=torch.complex64)
    leaf = torch.randn(3, requires_grad=True)
    (zero,) = torch.autograd.grad(torch.sgn(leaf).sum(), leaf)
    for tensor, lazy in [(z.conj().t(), "conj"), (z.conj().imag, "neg"), (zero, "zero")]:
        meta = recorded(tensor, lazy=lazy)
        made = eval(fills.creation(GraphInput("x", meta=meta), requires_grad=False))
        assert same(made, meta)
        asked = (made.is_conj(), made.is_neg(), made._is_zerotensor())
        assert asked == (tensor.is_conj(), tensor.is_neg(), tensor._is_zerotensor())
    assert fills.view_of(recorded(z), recorded(z.conj(), lazy="conj")) == "[:].conj()"
