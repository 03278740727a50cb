"""What may run: the facts of a call, the rules, and what they decide. Start with `decider.py`."""
