"""Who sees through a candidate that fails the same way for another reason: more runs of it, and what they told."""
