"""Benches: many runs of many tasks, counted exactly once, and what they say about an agent."""
