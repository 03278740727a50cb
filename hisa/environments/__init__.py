"""Environments: the machines on which the agent acts.

`open_environment` makes one from settings, as an async context manager; the loop observes and acts
through `hisa.protocols.Environment`. This package has what all machines with a guest share; plugins
start the machines and wrap them. Start with `open_environment.py`, then `guest_environment.py` and
`transport/`, which talks to a guest over HTTP.
"""
