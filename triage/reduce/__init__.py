"""Making a failure small: choosing among engines, which lie in the folders below and never import each other."""
