"""Lessons of finished runs and rules written by people: level 3 of the state (HiSA, section 3.3).

When a run has ended, `induction.py` asks a model for lessons from its steps. The next run recalls
those that fit its task, and `synthesis.py` turns them into advice, which follows the rules of
`patterns_db`. Start with `memory.py`, which a run calls; `stores/` keep patterns, `embedders/` turn
their texts into vectors.
"""
