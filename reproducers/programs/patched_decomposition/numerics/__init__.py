from . import decompositions  # noqa: F401
