"""Packages that a reader may skip; each enters by the doors that a stranger's package uses.

The core imports none of them. A plugin imports the core, and another plugin only where the
contract in `pyproject.toml` says so. Start with the README of one: `desktop/` and `machines/` give
an agent a machine, `reading/` reads pictures, `toolkits/` and `mcp/` add tools, `offline/` is a
model made of rules, `benchmarks/` and `gym/` bring tasks.
"""
