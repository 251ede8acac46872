"""Many scripts: which there are, what was learned of each, which failures are one bug, what runs them."""
