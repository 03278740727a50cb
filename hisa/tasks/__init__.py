"""Tasks: instruction, initial state, and the check that scores a run.

A run loads its task by name or from a file, sets it up before the first step, and scores it before
anything is learned. Start with `taskfile.py` and `hisa_format.py`, HiSA's own format; `scorer.py`
sets up and scores, `pieces.py` looks up the setup steps and getters that task files name.
"""
