"""Since when? Finds the release, nightly or commit at which the outcome of a script changes."""
