"""Where the agent acts: anything that can be looked at and clicked in.

`open_environment` makes one from settings, as an async context manager; the loop looks and acts
through `hisa.protocols.Environment`. What is shared by all machines with a guest is here; what
starts a machine is a plugin's, and so is what stands around one. Start with `open_environment.py`,
then `guest_environment.py` and `transport/`, which talks to a guest over HTTP.
"""
