"""One more run of the program: how it is watched, and what that showed of it."""
