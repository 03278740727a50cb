"""Seconds that a program's step takes to find its targets again and to tell them from their like.

Each step of each program is looked up on every look of the run that proved it, whether it is meant
there or not: what is not there takes longest. Nothing is drawn, written or asked meanwhile, so this
is the check alone.
Usage: ``python -m benchmarks.identity_checks FOLDER``, as `benchmarks.replay_demonstrations` leaves
its ``--programs``: programs, and ``runs``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.machine import machine
from hisa.events import Observed
from hisa.plugins.replay.program_records import Program, read_program
from hisa.plugins.replay.target_ladder import find_target, focus_is
from hisa.plugins.synthesis.data.trajectories import look_of
from hisa.runs.read import load_run
from hisa.screen.observation import Observation


def looks_of(folder: Path) -> Iterator[Observation]:
    """The looks of a run that have elements."""
    run = load_run(folder)
    for event in run.events:
        look = look_of(run, event) if isinstance(event, Observed) else None
        if look is not None and look.elements:
            yield Observation(look.screenshot, look.size, elements=look.elements)


def seconds(program: Program, place: Path, look: Observation) -> Iterator[float]:
    """Seconds of each step that is done to something."""
    for step in program.steps:
        began = time.perf_counter()
        for target in step.targets:
            find_target(target, look, None, place)
        if step.focus is not None:
            focus_is(step.focus, look)
        if step.targets or step.focus:
            yield time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print(f"checks of identity, s a step; {machine()}")
    every: list[float] = []
    for file in sorted(folder.glob("*/program.yaml")):
        program = read_program(file.parent)
        if program.proof is None:
            continue
        looks = list(looks_of(folder / "runs" / program.proof.run))
        checks = [s for look in looks for s in seconds(program, file.parent, look)]
        every += checks
        most = max(len(look.elements or ()) for look in looks)
        print(
            f"{program.name:18} median {statistics.median(checks):.4f}, most {max(checks):.4f}, "
            f"n={len(checks)}, up to {most} elements"
        )
    print(f"all: median {statistics.median(every):.4f}, most {max(every):.4f}, n={len(every)}")


if __name__ == "__main__":
    main()
