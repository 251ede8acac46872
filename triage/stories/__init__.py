"""What each command does, as steps that read from top to bottom; beside them what a run has found and is told of it."""
