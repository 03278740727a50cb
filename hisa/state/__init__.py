"""Keeps the agent's state bounded: abstracted steps, refined context, the manager."""
