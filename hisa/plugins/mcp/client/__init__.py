"""Offers the tools of servers that speak the Model Context Protocol as tools of a run.

A server is somebody else's program: what it says about itself and what it answers is text from
outside, and it may hang, die or send anything. The protocol itself is left to the ``mcp`` package,
which is imported only if a server is configured.
"""
