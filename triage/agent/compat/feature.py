"""What a part of torch is answered with: a feature, or the reason why this torch has none."""


class Missing(object):
    """A feature that this torch does not have. False in a condition."""

    def __init__(self, reason):
        self.reason = reason

    def __bool__(self):
        return False

    def __repr__(self):
        return "Missing(%r)" % self.reason


class Feature(object):
    """Some parts of torch that belong together, by name."""

    def __init__(self, **parts):
        self.__dict__.update(parts)
