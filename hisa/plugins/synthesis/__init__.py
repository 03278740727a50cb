"""Makes tasks from the desktop itself and proves them (OS-Genesis, 3.1-3.2).

A *triple* is a state, an act and the state after it. The *frontier* holds the acts that have not
been tried yet. A *mutant* is a near miss of the right end. Start with `records.py`.
"""

from hisa.machine.plugins import Command

__all__ = ["DATA", "EXPLORE", "SYNTH"]

EXPLORE = Command(
    "hisa.plugins.synthesis.cli.explore:explore",
    "Explore an application and record what each action changes.",
    after="bench",
)
SYNTH = Command(
    "hisa.plugins.synthesis.cli.synth:synth",
    "Generate tasks from an exploration, and prove that they can be done.",
    after="explore",
)
DATA = Command(
    "hisa.plugins.synthesis.cli.data_sets:data",
    "Collect, grade and compress runs, and export their steps as training data.",
    after="synth",
)
