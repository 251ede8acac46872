"""What one run of the program executed, and its values as expressions: for the reducer of text."""
