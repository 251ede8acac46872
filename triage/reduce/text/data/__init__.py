"""What the program reads, and what stands in its place: made-up contents, or the fewest of its own words."""
