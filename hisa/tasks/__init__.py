"""Task files: the state a machine is brought to, and the check that scores it.

A run asks for a task by name or file, has its set-up done before the first step, and its score
taken before anything is learned. Start with `taskfile.py` and `hisa_format.py`, a task file of our
own; `scorer.py` sets up and scores, `pieces.py` looks up what task files name.
"""
