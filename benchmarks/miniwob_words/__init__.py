"""MiniWoB++ pages done by scripts that name their targets in a model's words."""
