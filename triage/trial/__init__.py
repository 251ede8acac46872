"""Candidates are tried here: the driver and its memory, patience and budgets, and what runs them."""
