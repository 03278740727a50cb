"""Planted orders, a planner that obeys every one of them, and what must hold all the same."""
