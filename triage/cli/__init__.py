"""The command line: parse, call the pipeline, print. No logic, and nothing heavy is imported before a command runs."""
