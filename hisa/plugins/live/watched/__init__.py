"""The side of the run: parks the agent, and lets a person act on its machine."""
