"""What is captured as plain data: graphs with their inputs and context, exceptions, and the program's own code that they need."""
