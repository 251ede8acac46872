"""The command line: parse, call a story, print. No logic, and nothing heavy is imported before a command runs."""
