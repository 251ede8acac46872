"""Finding the guilty stage: the ladder of backends as data, and the walk along it."""
