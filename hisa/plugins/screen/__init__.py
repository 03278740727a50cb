"""A person's own screen on Linux with X, macOS and Windows, by mss and PyAutoGUI."""
