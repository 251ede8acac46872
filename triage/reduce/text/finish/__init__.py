"""What is done to a text once, at the end, for its reader. Pure."""
