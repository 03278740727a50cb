"""What benchmarks of programs share: a run shown by a script, its program, and a play's numbers.

Usage: none of its own; see ``benchmarks.replay_changes`` and ``benchmarks.replay_demonstrations``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import hisa
from hisa.config import Settings
from hisa.events import Event, ModelCalled, Observed, Planned
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.replay.compiling import compile_run
from hisa.plugins.replay.program_records import Program, write_program
from hisa.plugins.replay.proving import prove
from hisa.plugins.synthesis.doing import called
from hisa.protocols import ModelReply, ModelRequest, Task
from hisa.runs.read import load_run
from hisa.testing.scripted import FunctionModel, tool_call

__all__ = [
    "SERVER",
    "Thing",
    "acting_seconds",
    "model_calls",
    "proved",
    "seconds_of_plans",
    "settings_in",
]
__all__ += ["shown_once"]

Thing = tuple[str, str] | tuple[str, str, str] | str
"""What a script does: a click on a role and name, beside a text; or PyAutoGUI source."""

SERVER = """
import os, subprocess, urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer
class Log(BaseHTTPRequestHandler):
    def do_GET(self):
        line = urllib.parse.unquote(self.path[1:])
        with open(os.path.expanduser("~/clicks.txt"), "a") as file:
            file.write(line + "\\n")
        if line == "focus":
            subprocess.Popen(["/usr/bin/python3", os.path.expanduser("~/thief.py")])
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_): pass
HTTPServer(("127.0.0.1", 8377), Log).serve_forever()
"""
"""Writes down what a page says of itself, in ~/clicks.txt of the desktop."""


def settings_in(folder: Path) -> Settings:
    """The settings of runs without a model, kept in a folder."""
    roles = {role: {"model": "offline"} for role in ("planner", "state", "judge")}
    tree = {
        "run": {"folder": folder},
        "patterns": {"enabled": False},
        "models": roles,
        "grounder": {"kind": "elements"},
    }
    return Settings.model_validate(tree)


async def shown_once(settings: Settings, task: Task, acts: Sequence[Thing]) -> tuple[Path, float]:
    """The run in which a script does a task by looking up each place; its folder, seconds."""
    # A wait first, so that the look that an act is decided on has what it is done to.
    steps = iter(
        [(act, waits) for act in acts for waits in ((False,) if isinstance(act, str) else (1, 0))]
    )
    async with DesktopEnvironment() as desktop:

        async def plan(_: ModelRequest) -> ModelReply:
            act, waits = next(steps, ("", False))
            if isinstance(act, tuple):
                at = await place_of(desktop, *act)
                act = f"pyautogui.click({at[0]}, {at[1]})"
            if waits:
                return ModelReply(tool_call("wait", {"seconds": 1}))
            if act:
                return ModelReply(tool_call("gui_action", act))
            return ModelReply(tool_call("termination", "All of it is done."))

        began = time.monotonic()
        result = await hisa.run(
            task,
            settings=settings,
            environment=desktop,
            model={"planner": FunctionModel(plan), "state": FunctionModel(lambda _: "Succeeded.")},
        )
        seconds = time.monotonic() - began
        if not result.success:
            raise SystemExit(f"the run that shows it failed: {result.message}; {result.folder}")
        return result.folder, seconds


async def place_of(
    desktop: DesktopEnvironment, role: str, name: str, beside: str = ""
) -> tuple[int, int]:
    """The middle of a thing, in image pixels; of several the one on the height of a text."""
    for _ in range(40):
        look = await desktop.observe(elements=True, settle=0.3)
        elements = [e for e in look.elements or () if "showing" in e.states]
        heights = [e.box.centre.y for e in elements if e.name == beside]
        for element in elements:
            level = not beside or any(abs(element.box.centre.y - y) < 10 for y in heights)
            if called(element).strip() == name and level and element.role == role:
                return look.convert(element.box.centre, "image").rounded()
    raise SystemExit(f"the screen shows no {role} {name!r} {beside}")


async def proved(made: Path, name: str, place: Path, settings: Settings) -> Program:
    """The program of a run, written to its folder once it was proved there."""
    program = compile_run(load_run(made), name, place)
    write_program(program, place)
    program = await prove(program, place, settings, agree=lambda _: True, take=False)
    write_program(program, place)
    return program


def seconds_of_plans(events: Sequence[Event]) -> list[float]:
    """From each look to what is planned on it: effects, targets, their like."""
    seconds, seen = [], 0.0
    for event in events:
        if isinstance(event, Observed):
            seen = event.at
        elif isinstance(event, Planned):
            seconds.append(event.at - seen)
    return seconds


def acting_seconds(events: Sequence[Event]) -> float:
    """From the first look to the last plan: without setup, check and score."""
    looks = [event.at for event in events if isinstance(event, Observed)]
    plans = [event.at for event in events if isinstance(event, Planned)]
    return plans[-1] - looks[0] if looks and plans else 0.0


def model_calls(events: Sequence[Event]) -> int:
    """How often a model was asked that is no rules."""
    return sum(isinstance(e, ModelCalled) and not e.model.startswith("offline") for e in events)
