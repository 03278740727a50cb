"""What a step and a run came to."""
