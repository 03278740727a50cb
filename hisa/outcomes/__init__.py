"""The outcomes of a step and of a run, as closed sets of words.

State manager, log, report and benches all use these, so that a verdict, an ending and a success
mean the same everywhere. Start with `verdicts.py` (the verdict on a step) and `endings.py` (how a
run ends, and what counts as a success).
"""
