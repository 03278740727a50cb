"""The server inside a desktop: looks, acts, runs commands, moves files.

It is run by the system's Python 3.10 or later with python3-xlib and python3-pil, and imports
nothing else of HiSA. `__main__` says how to start it.
"""
