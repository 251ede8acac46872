"""Tensors and graphs: what autograd, functionalization and dispatch modes know of them."""

import sys

from .feature import Feature, Missing


def flattened(tree):
    """(leaves of nested tuples, lists and dictionaries, the function that puts others in their places)."""
    from torch.utils._pytree import tree_flatten, tree_unflatten

    flat, spec = tree_flatten(tree)
    return flat, lambda leaves: tree_unflatten(leaves, spec)


def tensors_in(tree):
    """The tensors in nested containers, in order; also in dataclasses and other lists and dictionaries, as models return."""
    for leaf in flattened(tree)[0]:
        if isinstance(leaf, sys.modules["torch"].Tensor):
            yield leaf
        elif isinstance(leaf, dict):
            yield from tensors_in(dict(leaf))
        elif isinstance(leaf, (list, tuple)):
            yield from tensors_in(list(leaf))
        elif hasattr(leaf, "__dataclass_fields__") and not isinstance(leaf, type):
            yield from tensors_in(dict(vars(leaf)))


def copy_graph(gm):
    """A GraphModule with the same parameters and a graph of its own."""
    import copy

    from torch.fx import GraphModule

    return GraphModule(gm, copy.deepcopy(gm.graph))


def copy_graph_deeply(gm):
    """As `copy_graph`, with the graphs of nested functions copied too: a backend may rewrite them in place."""
    copied = copy_graph(gm)
    for name, child in list(copied.named_children()):
        if type(child).__name__ == type(copied).__name__ or hasattr(child, "graph"):
            setattr(copied, name, copy_graph_deeply(child))
    return copied


def is_functional(tensor):
    """Whether a tensor is the wrapper of functionalization, which has no values to read."""
    try:
        return sys.modules["torch"]._is_functional_tensor(tensor)
    except Exception:
        return False


def left_undone(tensor):
    """What a tensor's elements still wait for: conj, neg, zero (it has no storage: a gradient known to be 0), or nothing."""
    for name, question in (("zero", "_is_zerotensor"), ("conj", "is_conj"), ("neg", "is_neg")):
        try:
            if getattr(tensor, question)():
                return name
        except Exception:  # a layout or a subclass that cannot be asked
            continue
    return ""


def base_of(tensor):
    """The tensor that autograd has this one be a view of; None where it is none."""
    try:
        return tensor._base if tensor._is_view() else None
    except Exception:  # a subclass that cannot be asked
        return None


def address_of(tensor):
    """Where its memory lies, as a key that views of one memory share; None where it has none, or does not tell."""
    try:
        storage = tensor.untyped_storage()
        address = storage.data_ptr() if storage.nbytes() else 0
        return (str(tensor.device), address) if address else None
    except Exception:
        return None


def version_of(value):
    """How often a tensor was written to in place; None where nobody counts (an inference tensor, no tensor)."""
    try:
        return value._version
    except (AttributeError, RuntimeError):
        return None


def dispatching(call, whole=False):
    """A mode under which every ATen operation is `call(func, args, kwargs)`.

    A higher-order operator (`flex_attention`, `cond`, `scan`) does not let it into the body. With `whole` it is one operation
    like others; else NotImplementedError says so. Before torch 2.7 torch refuses it.

    In inference mode an operation that is made of others (`dropout`, `pad`, `linear`) comes whole: it is taken apart, as
    autograd takes it apart elsewhere.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    class Dispatching(TorchDispatchMode):
        supports_higher_order_operators = True  # else torch (2.7 and newer) says that in words of its own

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if not whole and is_higher_order(func):
                raise NotImplementedError("the operations in the body of `%s` cannot be looked at one by one" % func)
            if _is_made_of_others(func):
                with self:
                    return func._op_dk(_composite(), *args, **(kwargs or {}))
            return call(func, args, kwargs or {})

    return Dispatching()


def _is_made_of_others(func):
    """Whether torch has a kernel of it that calls other operations; not the one in Python, which may be another (`dropout`)."""
    if not hasattr(func, "_op_dk"):
        return False
    return sys.modules["torch"]._C._dispatch_has_kernel_for_dispatch_key(func.name(), _composite())


def _composite():
    return sys.modules["torch"]._C.DispatchKey.CompositeImplicitAutograd


def is_higher_order(func):
    """Whether an operation is one that is given graphs to run, and has no schema."""
    return hasattr(func, "py_kernels") and not hasattr(func, "_schema")


def tracing_modes_off():
    """A context manager that leaves all dispatch modes (fake, functional, proxy) for a while."""
    import contextlib

    try:
        from torch.utils._python_dispatch import _disable_current_modes
    except ImportError:
        return contextlib.nullcontext()
    return _disable_current_modes()


def file_writer(torch):
    """The class (`owner`, `name`) with which torch.save opens its file, given a path or a stream."""
    if hasattr(getattr(torch, "_C", None), "PyTorchFileWriter"):
        return Feature(owner=torch._C, name="PyTorchFileWriter")
    return Missing("torch._C.PyTorchFileWriter is not there")


def hint_of(env, expression):
    """What a symbolic size stood for; None or an exception where nothing is known.

    torch 2.13 warns of `size_hint`, and the program may turn warnings into errors (`symbolic_shapes.py`).
    """
    ask = getattr(env, "guarding_hint_or_throw", None)
    return ask(expression) if ask is not None else env.size_hint(expression, allow_none=True)
