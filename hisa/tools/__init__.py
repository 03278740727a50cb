"""The tools a planner may call: registry, built-ins, policy.

The loop hands each resolved call to the registry, which finds the tool by the entry-point group
`hisa.tools`, checks the arguments and calls it; the policy decides first, by what an act would do.
Start with `registry.py`, then `base.py` (a tool is a typed function with a docstring),
`builtin.py` and `policy/`; toolkits of applications are a plugin.
"""
