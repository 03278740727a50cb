"""Where the agent acts: kinds of environments by name, guests at an address, and what lies around.

`open_environment` in `hisa.environments.open_environment` makes one from settings. Each kind but
`guest=` is a plugin's; `transport` speaks to the guest in any of them.
"""
