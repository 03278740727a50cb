"""Lessons of finished runs and house rules: level 3 of the state (HiSA, section 3.3).

The conclusion of a run has `induction.py` find lessons in its log; the next run recalls those that
fit, and `synthesis.py` makes advice of them together with the rules in `patterns_db`. Start with
`memory.py`, which a run calls; `stores/` keep patterns, `embedders/` give them their vectors.
"""
