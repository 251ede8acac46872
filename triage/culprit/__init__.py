"""What is to blame inside the stage, under which settings, and the way round it."""
