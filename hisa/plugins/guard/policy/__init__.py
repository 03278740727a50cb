"""The facts of a call, the rules, and what they decide: start with `call_decider.py`."""
