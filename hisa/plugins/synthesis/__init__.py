"""Makes tasks from the desktop itself and proves them (OS-Genesis, 3.1-3.2).

A *triple* is a state, an act and the state after it. The *frontier* holds the acts that have not
been tried yet. A *mutant* is a near miss of the right end. Start with `records.py`.
"""

from hisa.machine.plugins import Command

__all__ = ["DATA", "EXPLORE", "SYNTH"]

EXPLORE = Command(
    "hisa.plugins.synthesis.cli.explore:explore",
    "Try what an application offers, and keep what each act changed.",
    after="bench",
)
SYNTH = Command(
    "hisa.plugins.synthesis.cli.synth:synth",
    "Make tasks from what was explored, and prove them.",
    after="explore",
)
DATA = Command(
    "hisa.plugins.synthesis.cli.data_sets:data",
    "Collect runs, grade and compress them, and export their steps.",
    after="synth",
)
