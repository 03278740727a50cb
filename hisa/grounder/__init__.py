"""Turns descriptions of things into places on the screen (HiSA, section 3.2).

The agent's loop calls `resolve` on each call that names a thing. Elements are asked first; a model
with eyes, or a choice from a short list, only where they are not sure. A thing that was not found
is refused with the closest candidates, never guessed. Start with `elements.py`, then
`description.py` (a description as a query), `scene.py` (what there is to choose from) and
`cascade.py`.
"""
