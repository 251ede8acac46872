"""The forty operations that random programs are made of, as data.

A value is known by a letter: f a floating-point matrix, c one with a single column, b a matrix of bool, i one of int64. All
keep numbers tame, so that a healthy program is free of infinities however long it gets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """`name` is its ATen name, by which a fault finds it; `text` a call of `takes`; `gives` the letter of its result."""

    name: str
    text: str
    takes: str
    gives: str = "f"


def _unary(*names: str) -> list[Operation]:
    return [Operation(name, f"torch.{name}({{0}})", "f") for name in names]


def _binary(*names: str) -> list[Operation]:
    return [Operation(name, f"torch.{name}({{0}}, {{1}})", "ff") for name in names]


FUNCTIONAL = "torch.nn.functional"

OPERATIONS: tuple[Operation, ...] = (
    *_unary("sin", "cos", "tanh", "sigmoid", "erf", "atan", "abs", "neg", "floor", "round", "sign", "relu"),
    *_binary("atan2", "hypot", "minimum", "maximum", "add", "sub"),
    Operation("mul", "{0} * 0.5", "f"),
    Operation("gelu", f"{FUNCTIONAL}.gelu({{0}})", "f"),
    Operation("silu", f"{FUNCTIONAL}.silu({{0}})", "f"),
    Operation("elu", f"{FUNCTIONAL}.elu({{0}})", "f"),
    Operation("leaky_relu", f"{FUNCTIONAL}.leaky_relu({{0}}, 0.1)", "f"),
    Operation("softplus", f"{FUNCTIONAL}.softplus({{0}})", "f"),
    Operation("hardtanh", f"{FUNCTIONAL}.hardtanh({{0}}, -2.0, 2.0)", "f"),
    Operation("_softmax", "torch.softmax({0}, 1)", "f"),
    Operation("_log_softmax", "torch.log_softmax({0}, 1)", "f"),
    Operation("clamp", "{0}.clamp(-1.5, 1.5)", "f"),
    Operation("cumsum", "torch.cumsum({0}, 1) / 8", "f"),
    Operation("flip", "torch.flip({0}, [0])", "f"),
    Operation("roll", "torch.roll({0}, 1, 1)", "f"),
    Operation("tril", "torch.tril({0})", "f"),
    Operation("triu", "torch.triu({0})", "f"),
    Operation("fmod", "torch.fmod({0}, 2.0)", "f"),
    Operation("remainder", "torch.remainder({0}, 3.0)", "f"),
    Operation("lerp", "torch.lerp({0}, {1}, 0.3)", "ff"),
    Operation("cat", "torch.cat([{0}, {1}], 1)[:, 1::2]", "ff"),
    Operation("sum", "{0}.sum(1, keepdim=True) / 8", "f", "c"),
    Operation("mean", "{0}.mean(1, keepdim=True)", "f", "c"),
    Operation("amax", "{0}.amax(1, keepdim=True)", "f", "c"),
    Operation("gt", "{0} > {1}", "ff", "b"),
    Operation("le", "{0} <= 0.25", "f", "b"),
    Operation("where", "torch.where({2}, {0}, {1})", "ffb"),
    Operation("masked_fill", "{0}.masked_fill({1}, 0.5)", "fb"),
    Operation("logical_not", "torch.logical_not({0})", "b", "b"),
    Operation("bitwise_and", "{0} & {1}", "bb", "b"),
    Operation("gather", "torch.gather({0}, 1, {1})", "fi"),
    Operation("add", "{0} + {1}", "fc"),
    Operation("sub", "{0} - {1}", "fc"),
)

EVERYWHERE = ("add", "sub", "mul", "neg", "where")  # in masks and sums, so no place for a fault

# What a fault may be planted on: operations that give matrices of floating-point numbers.
PLANTABLE: tuple[Operation, ...] = tuple(
    each for each in OPERATIONS if each.gives == "f" and each.takes in ("f", "ff") and each.name not in EVERYWHERE
)
