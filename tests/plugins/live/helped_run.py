"""A run of the real agent, into whose log acts of a person are written by hand afterwards."""

from __future__ import annotations

from pathlib import Path

from hisa.events import Event, PersonActed, event_adapter
from hisa.runs.event_line import encode
from hisa.runs.run_reader import EVENTS, Run, load_run
from hisa.testing import FakeServer
from tests.runs.test_turns import CLICK, answer, run_with_server

CHANGED = 'Entry "Name" now reads "Ana"'
ACTS = "pyautogui.click(10, 20)\npyautogui.write('Ana')"


def acts(step: int, error: str = "") -> list[PersonActed]:
    """A take-over, as a run logs it."""
    return [
        PersonActed(did="took_over", step=step),
        PersonActed(did="acted", step=step, text=ACTS, error=error),
        PersonActed(did="gave_back", step=step, text=CHANGED, seconds=12.0),
    ]


def insert(run: Run, at: tuple[str, int], events: list[PersonActed]) -> Run:
    """The run with events just before the first one of a type and step; there is one."""
    logged: list[Event] = [
        event_adapter.validate_json(line)
        for line in (run.folder / EVENTS).read_bytes().splitlines()
    ]
    place = [(str(event.type), event.step) for event in logged].index(at)
    lines = [*logged[:place], *events, *logged[place:]]
    (run.folder / EVENTS).write_bytes(b"".join(map(encode, lines)))
    return load_run(run.folder)


def build_helped_run(folder: Path, *, plain: bool = False) -> Run:
    """A run of three clicks and its end; a person acted before the second click."""
    with FakeServer(then=answer([CLICK, CLICK, CLICK])) as server:
        run = run_with_server(folder, server)
    return run if plain else insert(run, ("planned", 2), acts(2))
