"""MiniWoB++: the pages of the ``miniwob`` package, and how one is shown and watched."""
