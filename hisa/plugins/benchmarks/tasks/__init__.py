"""Task files of OSWorld and Spider2-V: initial state and scoring."""
