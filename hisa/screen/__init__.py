"""The screen: pictures, windows and elements of a look, and the text read off a picture.

An `Observation` is one look: a screenshot, the windows and, if they were read, the elements of one
moment. Environments create it; planner, grounder, state and the policy read it. Every place knows
the space it is in. Start with `observation.py` and `geometry.py`. `hit_test.py` returns the element
at a point, `ocr.py` asks the text reader that a package announces.
"""
