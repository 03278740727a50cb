"""The server inside a desktop: takes looks, acts, runs commands, transfers files.

The system's Python 3.10 or later runs it, with python3-xlib and python3-pil; it imports nothing
else of HiSA. `__main__` says how to start it.
"""
