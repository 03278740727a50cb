"""The tools a planner may call: registry and built-ins.

The loop hands each resolved call to the registry, which finds the tool by the entry-point group
`hisa.tools`, checks the arguments and calls it; hooks have allowed the call before.
Start with `registry.py`, then `base.py` (a tool is a typed function with a docstring),
`builtin.py`; toolkits of applications are a plugin.
"""
