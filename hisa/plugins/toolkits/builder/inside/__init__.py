"""Runs inside the machine, under the system's Python; imports nothing of ours."""
