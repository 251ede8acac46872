"""From what the agent told of a run to what a person can act on: breaks, recompilations, times. Pure functions."""
