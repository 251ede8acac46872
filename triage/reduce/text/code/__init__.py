"""A script read as Python: text and tree, names by scope, calls of torch.compile, what it weighs, how it is tidied. Pure."""
