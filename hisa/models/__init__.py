"""Models over the OpenAI protocol: clients, profiles, retries, budgets.

`wiring` makes one model for each role (planner, state, grounder, judge); planner, grounder, state
and patterns call it through `hisa.protocols.Model`. A request passes audit, budget and retries,
each a wrapper of the same protocol, before `client.py` sends it. Start with `open_models.py`, then
`client.py` and `profiles.py`, which says what each family of models takes.
"""
