"""What runs the processes of a sweep: this machine, or others."""
