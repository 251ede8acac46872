"""One run of the target: preparing its surroundings, launching it, and telling what came back."""
