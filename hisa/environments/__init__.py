"""Computers with a screen: runtimes start them, transports talk to them, the guest runs inside."""
