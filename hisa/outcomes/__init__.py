"""What a step and a run came to, in a closed set of words.

State manager, log, report and benches all ask here, so that a verdict, an ending and a success
mean the same everywhere. Start with `verdicts.py` (what was seen of a step) and `endings.py` (how
a run ends, and what counts as a success).
"""
