"""Programs of the agent's own, which `boot.py` starts in the target interpreter."""
