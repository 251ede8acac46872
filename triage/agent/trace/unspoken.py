"""What nobody can write down."""


class UnspokenError(Exception):
    """There is no expression for a value; the text says of which type."""
