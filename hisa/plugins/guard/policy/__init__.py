"""Decides calls by their facts and the policy's rules; start with `call_decider.py`."""
