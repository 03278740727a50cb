"""Where the agent acts: runtime starts a machine, transport talks to it, guest is the server in it.

`open_environment` in `hisa.environments.open_environment` makes one from settings.
"""
