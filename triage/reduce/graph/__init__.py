"""A captured graph as a candidate: edits, passes and searches, pure; `engine` alone has them tried."""
