"""Is it the same failure? Signatures, likeness, oracles: pure functions over what a probe found."""
