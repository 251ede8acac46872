"""What a failing check of the program's own compared: the two values are still there when its exception is described.

`torch.testing.assert_close`, NumPy's and unittest's have them among the locals of a known frame; for a bare `assert` (or an
`if ...: raise`) the condition is read from the source, and the two sides of its comparison are looked up in the frame. Only
what cannot do anything is evaluated: names, attributes, items, and methods that convert.
"""

import ast
import linecache
import sys

# Function -> pairs of names that its locals may have; in files of these packages only.
_KNOWN = {
    "assert_close": (("actual", "expected"),),
    "assert_allclose": (("actual", "desired"), ("actual", "expected")),
    "assert_array_equal": (("actual", "desired"), ("x", "y")),
    "assert_array_almost_equal": (("actual", "desired"), ("x", "y")),
    "assert_almost_equal": (("actual", "desired"),),
    "assert_equal": (("actual", "desired"),),
    "assertEqual": (("first", "second"), ("x", "y")),
}
_TESTING = ("/torch/testing/", "/numpy/testing/", "/unittest/")
_COMPARING = ("allclose", "equal", "isclose", "array_equal", "array_equiv", "assert_close", "same")
# These look at dtypes and shapes besides; all others promote and broadcast, and are about numbers alone.
_STRICT = ("assert_close", "assertEqual", "equal", "same")
_ASPECTS = {"stride": "strides", "strides": "strides", "dtype": "dtype", "shape": "shape", "size": "shape",
            "requires_grad": "requires_grad"}  # fmt: skip
_CONVERTING = frozenset(
    ("clone", "contiguous", "cpu", "detach", "double", "float", "flatten", "numpy", "resolve_conj", "view_as")
)
MOST_FRAMES = 200
MOST_ELEMENTS = 50_000_000


def compared(error):
    """What the check compared, as facts (the shape of `Check` in triage's model), or None where that cannot be told."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor") or not isinstance(error, Exception):
        return None
    try:
        with torch.no_grad():
            found = _pair(torch, error)
            return None if found is None else _facts(torch, *found)
    except Exception:
        return None


def _pair(torch, error):
    """(one, other, how, aspect, strict) of the innermost frame that compares two values."""
    frames = _frames(error)
    for frame, _ in frames:
        code = frame.f_code
        if any(part in code.co_filename.replace("\\", "/") for part in _TESTING):
            for names in _KNOWN.get(code.co_name, ()):
                found = frame.f_locals
                if all(name in found for name in names):
                    strict = code.co_name in _STRICT and "first" not in names and found.get("check_dtype") is not False
                    return found[names[0]], found[names[1]], code.co_name, None, strict
    for frame, line in frames[:1]:
        condition = _condition(frame.f_code.co_filename, line)
        sides = _sides(torch, condition, frame) if condition is not None else None
        if sides is not None:
            return sides
    return None


def _frames(error):
    found, node = [], error.__traceback__
    while node is not None and len(found) < MOST_FRAMES:
        found.append((node.tb_frame, node.tb_lineno))
        node = node.tb_next
    return found[::-1]


def _condition(file, line):
    """The test of the assertion at this line, or of the `if` that the raise statement there stands in."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    inner = None
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assert, ast.If)) and node.lineno <= line <= (node.end_lineno or node.lineno):
            inner = node if inner is None or node.lineno >= inner.lineno else inner
    return None if inner is None else inner.test


def _sides(torch, condition, frame):
    for node in ast.walk(condition):
        pair = _of_node(node)
        if pair is None:
            continue
        one, other, how, aspect = pair
        values = [_value(side, frame) for side in (one, other)]
        if all(_is_value(torch, value) for value in values) and any(_is_tensor(torch, value) for value in values):
            return (values[0], values[1], how, aspect, how in _STRICT)
    return None


def _of_node(node):
    """(one side, other side, how, aspect) where an expression compares, else None."""
    name = _called(node)
    if name in _COMPARING and len(node.args) >= 2:
        signs = all(_called(side) == "signbit" for side in node.args[:2])
        one, other = (side.args[0] if signs else side for side in node.args[:2])
        return one, other, name, "zero_sign" if signs else None
    if name in _COMPARING and len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        return node.func.value, node.args[0], name, None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return node.left, node.right, "difference", None
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        owners = [_owner(side) for side in (node.left, node.comparators[0])]
        if owners[0][1] is not None and owners[0][1] == owners[1][1]:
            return owners[0][0], owners[1][0], "assert", owners[0][1]
        return node.left, node.comparators[0], "assert", None
    return None


def _called(node):
    """The last name of what is called, or None."""
    if not isinstance(node, ast.Call):
        return None
    return getattr(node.func, "attr", None) or getattr(node.func, "id", None)


def _owner(node):
    """(x, strides) of `x.stride()`; (the node, None) where it asks for no such fact."""
    attribute = node.func if isinstance(node, ast.Call) and not node.args else node
    if isinstance(attribute, ast.Attribute) and attribute.attr in _ASPECTS:
        return attribute.value, _ASPECTS[attribute.attr]
    return node, None


def _value(node, frame):
    if not _harmless(node):
        return None
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "<check>", "eval")
    return eval(code, frame.f_globals, frame.f_locals)


def _harmless(node):
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            if not isinstance(part.func, ast.Attribute) or part.func.attr not in _CONVERTING or part.keywords:
                return False
        elif not isinstance(part, (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.Slice, ast.UnaryOp,
                                   ast.expr_context, ast.unaryop, ast.Index)):  # fmt: skip
            return False
    return True


def _is_tensor(torch, value):
    return isinstance(value, torch.Tensor) or type(value).__module__ == "numpy"


def _is_value(torch, value):
    return _is_tensor(torch, value) or isinstance(value, (bool, int, float, complex))


# -- what differs -----------------------------------------------------------------------------------------------------


def _facts(torch, one, other, how, aspect, strict):
    left, right = _leaves(torch, one), _leaves(torch, other)
    if not left and not right:
        return None
    if len(left) != len(right):
        return {"kind": "structure", "how": how}
    pairs = list(zip(left, right))  # noqa: B905 - not in Python 3.9
    if not strict and aspect is None:
        pairs = [_as_numbers(torch, first, second) for first, second in pairs]
    found = [_of_leaf(torch, first, second, aspect) for first, second in pairs]
    # Which of several failed the check is not known: what rounding cannot explain comes first, then the furthest off.
    told = sorted(filter(None, found), key=lambda facts: (facts["kind"] in ("values", "zero_sign"), -facts["relative"]))
    return dict(told[0], how=how) if told else None


def _as_numbers(torch, one, other):
    """Both as a comparison of numbers sees them; as they are where they cannot be compared."""
    if one.dtype != other.dtype:
        common = torch.promote_types(one.dtype, other.dtype)
        one, other = one.to(common), other.to(common)
    try:
        return torch.broadcast_tensors(one, other)
    except RuntimeError:
        return one, other


def _of_leaf(torch, one, other, aspect):
    kind = aspect or _kind(torch, one, other)
    if kind is None:
        return None
    named = {"kind": kind, "dtype": str(one.dtype).split(".")[-1], "shape": [int(size) for size in one.shape]}
    return dict(_numbers(torch, one, other), **named)


def _leaves(torch, value):
    """Every value in a tree of containers, as plain tensors."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(torch, item)]
    if not _is_value(torch, value):
        return []
    tensor = value if isinstance(value, torch.Tensor) else torch.as_tensor(value)
    if tensor.layout != torch.strided or tensor.numel() > MOST_ELEMENTS:
        return []
    return [tensor.detach()]


def _kind(torch, one, other):
    """The first way in which two tensors differ; None where they do not."""
    if one.shape != other.shape:
        return "shape"
    if one.dtype != other.dtype:
        return "dtype"
    one, other = _plain(torch, one), _plain(torch, other)
    if not torch.equal(one.isnan(), other.isnan()):
        return "nan"
    if not torch.equal(
        torch.where(one.isinf(), one, torch.zeros_like(one)), torch.where(other.isinf(), other, torch.zeros_like(one))
    ):
        return "inf"
    if not bool(((one == other) | one.isnan()).all()):
        return "values"
    return "zero_sign" if not torch.equal(torch.signbit(one), torch.signbit(other)) else None


def _numbers(torch, one, other):
    if one.shape != other.shape or not one.numel():
        return {"relative": 0.0}
    one, other = _plain(torch, one), _plain(torch, other)
    both = one.isfinite() & other.isfinite()
    apart, size = (one - other)[both], one[both]
    if not apart.numel():
        return {"relative": 0.0}
    return {
        "difference": float(apart.abs().max()),
        "relative": float(apart.square().mean().sqrt()) / (float(size.square().mean().sqrt()) or 1.0),
    }


def _plain(torch, tensor):
    tensor = tensor.cpu()
    if tensor.dtype.is_complex:
        return torch.view_as_real(tensor.resolve_conj().to(torch.complex128))
    return tensor.to(torch.float64)
