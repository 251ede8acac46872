"""PyTorch's own minifier, driven for the person and never taken at its word."""
