"""Making a failure small: graph and source edits, the driver that tries them, and the engines behind one interface."""
