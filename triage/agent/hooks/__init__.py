"""Where the agent stands in the program: around torch.compile, inside Dynamo and Inductor, and what it remembers there."""
