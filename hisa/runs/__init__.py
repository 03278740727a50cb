"""The event log of a run: write, read, resume, show, report."""
