"""The run's side of the live page: parks the agent, and lets a person act on its machine."""
