"""A `GraphCase` as a Python script, as a person would write it. Pure functions; nothing is run."""
