"""Turns descriptions of elements into places on the screen (HiSA, section 3.2).

The agent's loop calls `resolve` on each call that describes a target. A plugin announces the
matcher that reads descriptions (`matchers.py`). Without one there are marks, the formats of
grounding models, vision and a choice from a short list. A description without a match is refused
with the closest candidates; nothing is guessed. Start with `common.py`, then `choice.py` and
`vision.py`.
"""
