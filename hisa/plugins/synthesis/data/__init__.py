"""Training data from finished runs, which are graded, compressed and exported.

OS-Genesis, 3.3 to 5; OS-Catalyst, 3.2 to 3.4. Start with `trajectories.py`.
"""
