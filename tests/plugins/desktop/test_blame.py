"""Whose programs took more than a desktop's limit, as its watchdog tells, and what follows."""

from __future__ import annotations

import pytest

from hisa.errors import EnvironmentFailed, LimitPassed
from hisa.outcomes.endings import ActingTime, Ending, ending_of
from hisa.plugins.desktop.runtime.watchdog import Process, blame

BASE = ((1, 0, 10, 1), (2, 1, 11, 9), (3, 2, 12, 4))
"""The first process, the guest and its X server: number, parent, start and memory."""


@pytest.mark.parametrize(
    ("others", "since"),
    [
        ([(20, 2, 500, 60)], 500),
        ([(20, 2, 500, 30), (21, 20, 510, 30)], 500),
        ([(20, 2, 50, 60)], 50),
        ([(20, 2, 50, 5), (21, 20, 500, 60)], 50),
        ([(20, 1, 500, 60)], 500),
        ([(20, 2, 50, 45), (21, 2, 500, 20)], 50),
        ([(20, 2, 50, 20), (21, 2, 500, 45), (22, 2, 600, 10)], 500),
        ([(20, 2, 500, 46)], None),
        ([], None),
    ],
    ids=[
        "a command's own",
        "its children",
        "the set-up's",
        "a late child of the set-up's",
        "left by its parent",
        "both, mostly the set-up's",
        "both, mostly later",
        "half, with the X server",
        "nobody",
    ],
)
def test_since_when_most_of_a_limit_was_taken(
    others: list[tuple[int, int, int, int]], since: int | None
) -> None:
    processes = [
        Process(pid, parent, start, 1, held) for pid, parent, start, held in (*BASE, *others)
    ]
    assert blame(processes, 100, lambda process: process.memory) == since


ACTED = ActingTime(100.0, 200.0)


@pytest.mark.parametrize(
    ("error", "acted", "ending"),
    [
        (LimitPassed("over", 150.0), ACTED, "agent_broke_machine"),
        (LimitPassed("over", 99.0), ACTED, "environment_error"),
        (LimitPassed("over", 201.0), ACTED, "environment_error"),
        (LimitPassed("over", None), ACTED, "environment_error"),
        (LimitPassed("over", 150.0), None, "environment_error"),
        (EnvironmentFailed("gone"), ACTED, "environment_error"),
    ],
    ids=["while it acted", "set-up", "scoring", "not known", "did not act", "no limit"],
)
def test_agent_is_blamed_only_for_programs_started_while_it_acted(
    error: Exception, acted: ActingTime | None, ending: Ending
) -> None:
    assert ending_of(error, acted) == ending
