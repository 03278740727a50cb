"""What is seen: pictures, windows and elements of a look, and the text read off a picture.

An `Observation` is one look: a screenshot, the windows and, where they were read, the elements of
one moment. Environments make it; planner, grounder, state and the policy read it. Every place
knows the space it is in. Start with `observation.py` and `geometry.py`; `hit_test.py` says what
lies at a point, `ocr.py` asks the reader of letters that a package announces.
"""
