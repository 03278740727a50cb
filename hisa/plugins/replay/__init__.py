"""Makes programs of runs, and plays them without a model and with checks.

A *program* is what a run did, in words that are found again on the screen. A *target* is what an
act is done to, an *effect* what it changes. Start with `program_records.py`.
"""

from hisa.machine.plugins import Command

__all__ = ["COMPILE", "RECORD", "REPLAY", "SKILL"]

RECORD = Command(
    "hisa.plugins.replay.cli.record:record",
    "Record yourself doing a task; the recording becomes a run.",
    after="runs",
)
COMPILE = Command(
    "hisa.plugins.replay.cli.compile_program:compile_program",
    "Turn a run into a program that replays without a model.",
    after="record",
)
REPLAY = Command(
    "hisa.plugins.replay.cli.replay:replay",
    "Replay a program and check every step.",
    after="compile",
)
SKILL = Command(
    "hisa.plugins.replay.cli.skill:skill", "Export a program as an Agent Skill.", after="replay"
)
