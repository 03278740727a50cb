"""Agents that drive MiniWoB++ with one small model on one server, side by side."""
