"""Interpreters that can be triaged: what they have, and whether they can be used."""
