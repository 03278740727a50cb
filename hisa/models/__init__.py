"""Models over the OpenAI protocol: clients, profiles, retries, budgets.

`wiring` makes one model for each role (planner, state, grounder, judge); planner, grounder, state
and patterns call it through `hisa.protocols.Model`. `role_model.py` is the way of a request, on one
page; `client.py` makes a try. `profiles.py` says what each family of models takes.
"""
