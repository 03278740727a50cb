"""Runs of lists on a private desktop: a real agent with a scripted planner, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import hisa
from hisa.actions import Press
from hisa.config import Settings, load
from hisa.errors import HisaError
from hisa.events import Acted, SequenceStopped
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.guest_call import call_guest
from hisa.protocols import Task
from hisa.runs.read import load_run
from hisa.testing.scripted import FunctionModel, ScriptedModel, tool_call

__all__ = [
    "Act",
    "AppList",
    "KeptDesktop",
    "ListOutcome",
    "Read",
    "click",
    "fill_screen",
    "keys",
    "read_by",
    "run_list",
    "title_of",
    "tool",
]

CLICK = "pyautogui.click(X_COORD, Y_COORD)"


@dataclass(frozen=True)
class Act:
    """One call of a list, as a planner writes it."""

    input: str | dict[str, object]
    description: str = ""
    tool: str = "gui_action"
    description_2: str = ""

    def written(self) -> dict[str, object]:
        """Returns the call as it stands in a reply."""
        call: dict[str, object] = {"tool": self.tool, "input": self.input}
        places = {"description": self.description, "description_2": self.description_2}
        return {**call, **{name: place for name, place in places.items() if place}}


def click(description: str, then: str = "") -> Act:
    """Returns a click on a thing, with what the same call does next."""
    return Act("; ".join(part for part in (CLICK, then) if part), description)


def keys(source: str) -> Act:
    """Returns a call of keys alone."""
    return Act(source)


def tool(name: str, **given: object) -> Act:
    """Returns a call of an application's tool."""
    return Act(given, tool=name)


class KeptDesktop(DesktopEnvironment):
    """A desktop whose programs go on over a run's reset."""

    async def reset(self) -> None:
        """Does nothing: the next list goes on with the same programs."""


Read = Callable[[KeptDesktop], Awaitable[str]]
"""Returns what the application holds, as text."""


@dataclass(frozen=True)
class AppList:
    """A list of calls, and how to tell what came of it."""

    name: str
    acts: Sequence[Act]
    wanted: Sequence[str]
    """All of these stand in what the application holds afterwards, and not before."""
    shown_by: Read


@dataclass(frozen=True)
class ListOutcome:
    """What came of one list."""

    name: str
    made: int
    of: int
    stopped: str
    """Why its last calls were not made; empty: all were."""
    shown: str
    """What it held after all calls in place of what was wanted; empty: as wanted, or stopped."""

    @property
    def whole(self) -> bool:
        """Whether every call was made."""
        return self.made == self.of and not self.stopped


def read_by(program: str, *functions: str, **given: object) -> Read:
    """Returns a reader that asks functions of a toolkit's program, beside the screen."""

    async def read(desktop: KeptDesktop) -> str:
        told = [await call_guest(desktop, program, name, **given) for name in functions]
        return "\n".join(map(str, told))

    return read


async def fill_screen(desktop: KeptDesktop) -> None:
    """Let the window in front fill the screen, and wait until it is drawn."""
    both = "add,maximized_vert,maximized_horz"
    await desktop.execute(["wmctrl", "-r", ":ACTIVE:", "-b", both])
    await desktop.observe(settle=5.0)


async def title_of(desktop: KeptDesktop) -> str:
    """Returns the title of the window in front, in which the page tells what it holds at F8."""
    await desktop.act([Press("f8")])
    look = await desktop.observe(settle=0.3)
    return look.active.title if look.active else ""


async def run_list(desktop: KeptDesktop, app_list: AppList, folder: Path) -> ListOutcome:
    """Let an agent do a list in one reply, and read what the application holds then."""
    planner = ScriptedModel([_reply(app_list.acts), tool_call("termination", "Done.")])
    stopped, made = "", 0
    try:
        result = await hisa.run(
            Task("list", app_list.name),
            settings=_settings(folder),
            model={"planner": planner, "state": FunctionModel(_state)},
            environment=desktop,
        )
    except HisaError as error:
        return ListOutcome(app_list.name, 0, len(app_list.acts), str(error), "")
    run = load_run(result.folder)
    for event in run.steps[0].events if run.steps else ():
        if isinstance(event, SequenceStopped):
            stopped = event.reason
        if isinstance(event, Acted):
            made += event.ok
            stopped = stopped or event.error
    if not made and not stopped:
        stopped = f"{result.status}: {result.message}"
    outcome = ListOutcome(app_list.name, made, len(app_list.acts), stopped, "")
    return replace(outcome, shown=await _lacking(desktop, app_list) if outcome.whole else "")


async def _lacking(desktop: KeptDesktop, app_list: AppList) -> str:
    """Returns what the application holds if that is not what was wanted."""
    deadline = Deadline(2.0)
    while True:
        shown = await _shown(desktop, app_list)
        if all(part in shown for part in app_list.wanted):
            return ""
        if deadline.passed:
            return shown or "nothing"
        await desktop.observe(settle=0.5)


async def _shown(desktop: KeptDesktop, app_list: AppList) -> str:
    try:
        return await app_list.shown_by(desktop)
    except HisaError as error:
        return f"not read: {error}"


def _reply(acts: Sequence[Act]) -> str:
    return json.dumps({"thought": "Go on.", "actions": [act.written() for act in acts]})


def _state(_: object) -> str:
    return "Succeeded. The document changed."


def _settings(folder: Path) -> Settings:
    return load(
        overrides={
            "run": {"folder": folder, "max_steps": 2},
            "planner": {"sequence": 5},
            "grounder": {"kind": "elements"},
            "patterns": {"enabled": False},
        },
        environ={},
    )
