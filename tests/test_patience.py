"""Time limits stretch with the machine, and never shrink."""

from __future__ import annotations

import builtins
import io
import os
from typing import Any

import pytest

from hisa.machine import patience as module
from hisa.machine.patience import Deadline, patience, slowness


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes /proc/loadavg say something else, on an otherwise idle reference machine."""

    def say(text: str | None, processors: int = 2) -> None:
        def open_load(name: Any, *args: Any, **kwargs: Any) -> Any:
            if name != "/proc/loadavg":
                return real(name, *args, **kwargs)
            if text is None:
                raise FileNotFoundError(name)
            return io.StringIO(text)

        monkeypatch.setattr(module, "_last", None)
        monkeypatch.setattr(module, "_processor", lambda: 1.0)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
        monkeypatch.setattr(builtins, "open", open_load)

    real = builtins.open
    return say


def test_an_idle_machine_keeps_the_limit(load: Any) -> None:
    load("0.10 0.20 0.30 1/200 1234\n")
    assert slowness() == 1.0
    assert patience(20.0) == 20.0


def test_time_limit_grows_with_the_load_per_processor(load: Any) -> None:
    load("8.00 4.00 2.00 3/200 1234\n")
    assert patience(20.0) == 80.0


@pytest.mark.parametrize("text", [None, "", "not a load\n"])
def test_a_machine_that_does_not_tell_its_load_keeps_the_limit(load: Any, text: str | None) -> None:
    load(text)
    assert patience(5.0) == 5.0


def test_a_deadline_moves_away_when_load_comes_in(load: Any) -> None:
    load("0.00 0.00 0.00 1/200 1\n")
    deadline = Deadline(100.0)
    assert 99.0 < deadline.left <= 100.0
    load("8.00 0.00 0.00 1/200 1\n")
    assert 399.0 < deadline.left <= 400.0
    assert not deadline.passed
