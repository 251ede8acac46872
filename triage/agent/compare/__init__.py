"""Compiled graphs compared with eager: copies, runs, and the rule by which a value is wrong."""
