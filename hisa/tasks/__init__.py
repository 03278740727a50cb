"""Task files: initial state and scoring."""
