"""``hisa synth``: tasks made of what was explored."""

from __future__ import annotations

import click

from hisa.plugins.synthesis.cli.prove import prove
from hisa.plugins.synthesis.cli.show import show
from hisa.plugins.synthesis.cli.write import write

__all__ = ["synth"]


@click.group()
def synth() -> None:
    """Make tasks of what was explored, and prove them by doing them.

    Each difference that an act made becomes a check, and each act an instruction. A candidate is a
    task only once it was executed: it fails at the start, passes at the end, fails after undoing,
    fails for near misses, and passes for another right way.

    \b
    hisa explore mousepad --minutes 10 -o pads
    hisa synth write pads
    hisa synth prove pads --workers 2
    hisa synth show pads
    """


synth.add_command(write)
synth.add_command(prove)
synth.add_command(show)
