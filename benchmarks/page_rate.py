"""How many episodes a second `PageRollouts` plays, by page events and by real input.

    python -m benchmarks.page_rate [EPISODES]

The first play shows the pages and is not counted. Acts are the rules', which take next to no time,
so this is the rate of the pages alone. The goal is 60 episodes a second by page events on two idle
cores; under load, the processor's seconds say more than the clock.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from hisa.plugins.training.episodes import Draw
from hisa.plugins.training.page_oracles import ORACLE_PAGES, PageOracle
from hisa.plugins.training.page_rollouts import PageRollouts


def cpu_seconds() -> float:
    """Processor time of this process and of those that it started and that still live."""
    fields: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # gone meanwhile
        fields[int(path.parent.name)] = (int(words[1]), int(words[11]) + int(words[12]))
    ours = {os.getpid()}
    while more := {pid for pid, (parent, _) in fields.items() if parent in ours} - ours:
        ours |= more
    return sum(fields[pid][1] for pid in ours) / os.sysconf("SC_CLK_TCK")


def measure(name: str, episodes: int, rollouts: PageRollouts) -> None:
    """Print the rate of one kind of rollouts."""
    try:
        for begin in (0, episodes):
            seeds = range(begin, begin + episodes)
            draws = [Draw(ORACLE_PAGES[seed % len(ORACLE_PAGES)], seed) for seed in seeds]
            clock, processor = time.monotonic(), cpu_seconds()
            played = list(rollouts.play(draws, PageOracle()))
            seconds, processor = time.monotonic() - clock, cpu_seconds() - processor
        steps = sum(len(episode.samples) for episode in played)
        failed = sum(not episode.is_sample for episode in played)
        print(
            f"{name:<12} {episodes / seconds:6.1f} episodes/s  {steps / seconds:6.1f} steps/s  "
            f"{1000 * processor / episodes:5.1f} ms of processor an episode  {failed} failed"
        )
    finally:
        rollouts.close()


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    measure("page events", count, PageRollouts(ORACLE_PAGES))
    measure("real input", count // 4, PageRollouts(ORACLE_PAGES, slots=8, real_input=True))
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end")
