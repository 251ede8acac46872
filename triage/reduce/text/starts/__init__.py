"""Texts that a reduction may start from: made of what the run showed, from the failing line alone to the whole program. Pure."""
