"""Objects of dataclasses: which of their fields made them what they are."""

import sys


def is_found(kind):
    """Whether it is a dataclass, and who imports its module finds it there."""
    found = getattr(sys.modules.get(kind.__module__), kind.__qualname__, None)
    return hasattr(kind, "__dataclass_fields__") and found is kind


def given(value, whole):
    """What it is made with, as pairs of name and value; not the defaults, unless `whole`."""
    fields = [field for field in type(value).__dataclass_fields__.values() if field.init]
    pairs = [(field, getattr(value, field.name)) for field in fields]
    return [(field.name, held) for field, held in pairs if whole or not _is_default(type(value), field, held)]


def _is_default(kind, field, value):
    """Whether it has this value anyway: by its field, or by its class, where that says otherwise than the one that it is of."""
    makers = (lambda: getattr(kind, field.name), field.default_factory, lambda: field.default)
    return any(_is_what(make, value) for make in makers)


def _is_what(make, value):
    try:
        made = make()
        return type(made) is type(value) and bool(made == value)
    except Exception:  # there is none, or they cannot be compared
        return False
