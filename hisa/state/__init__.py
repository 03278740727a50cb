"""Keeps all the agent knows bounded, at step 5 as at step 500 (HiSA, section 3.3).

After each step, `manager.py` writes one line about what changed on the screen; every few steps the
older lines are folded into one summary. The planner sees no more of the past than the manager's
view. Start with `manager.py`, then `step_abstraction.py` (level 1), `context.py` (level 2) and
`roi.py`, the changed region.
"""
