"""Shows the pages of MiniWoB++, from the ``miniwob`` package, and reads their rewards."""
