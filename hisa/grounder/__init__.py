"""Turns descriptions of things into places on the screen (HiSA, section 3.2).

The agent's loop calls `resolve` on each call that names a thing. What reads a description is
announced by a plugin (`matchers.py`); without one there are marks, the formats of grounding models,
vision and a choice from a short list. A thing that was not found is refused with the closest
candidates, never guessed. Start with `common.py`, then `choice.py` and `vision.py`.
"""
