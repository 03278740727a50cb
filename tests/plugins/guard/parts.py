"""Facts and decisions of single calls, for tables of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PIL import Image

from hisa.actions import parse
from hisa.config import PolicySettings
from hisa.plugins.guard.policy.call_facts import facts_of
from hisa.plugins.guard.policy.named_facts import CallFacts
from hisa.plugins.guard.policy.rule_decision import Policy, Ruling
from hisa.protocols import GroundedCall, Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window
from hisa.tools.base import Tool
from hisa.tools.builtin import bash_execution, gui_action

SCREEN = Size(1280, 720)


def look(
    app: str = "mousepad",
    title: str = "notes - Mousepad",
    *,
    elements: tuple[Element, ...] | None = None,
    known: bool = True,
) -> Observation:
    """A look at one window of an application."""
    box = BoundingBox(0, 0, 1280, 720, "screen")
    windows = (Window("1", title, app, box, active=True),) if known else ()
    picture = Screenshot(Image.new("RGB", (1280, 720)))
    return Observation(picture, SCREEN, windows, elements, windows_known=known)


def button(name: str, *, role: str = "push button", focused: bool = False) -> Element:
    """A button at (100, 100) to (200, 140)."""
    states = frozenset({"focused"}) if focused else frozenset[str]()
    return Element(role, name, BoundingBox(100, 100, 200, 140, "screen"), states=states)


def bar(text: str) -> Element:
    """The address bar of a browser."""
    box = BoundingBox(100, 10, 900, 40, "screen")
    return Element("entry", "Address and search bar", box, text=text)


def bash(line: str) -> GroundedCall:
    """A call of bash_execution."""
    return GroundedCall(ToolCall("", "bash_execution", line), line)


def gui(source: str, *, label: str = "", description: str = "") -> GroundedCall:
    """A call of gui_action whose target, if it has a label, was found at (150, 120)."""
    actions = parse(source)
    point = Point(150, 120, "image")
    places = (Place(description, point, label=label),) if label else ()
    call = ToolCall("", "gui_action", source, description, actions=actions)
    return GroundedCall(call, source, actions, places)


def facts(
    call: GroundedCall, observation: Observation | None = None, *, home: str = ""
) -> CallFacts:
    """The facts of a call of a built-in."""
    function = bash_execution if call.call.tool == "bash_execution" else gui_action
    return facts_of(call, Tool(function), observation or look(), home=home)


def effects(call: GroundedCall, observation: Observation | None = None) -> set[str]:
    """What a call would do, and "unread" where that cannot be told."""
    parts = facts(call, observation).parts
    names: set[str] = {effect for part in parts for effect in part.effects}
    return names | ({"unread"} if any(part.unread for part in parts) else set())


def decide(
    call_facts: CallFacts,
    *rules: Mapping[str, Any],
    guarded: bool = False,
    home: str = "",
    **settings: Any,
) -> Ruling:
    """The decision by some rules."""
    policy = PolicySettings.model_validate({"rules": rules, **settings})
    return Policy(policy, guarded=guarded, home=home).decide(call_facts)


def verdict(line: str, *rules: Mapping[str, Any], **settings: Any) -> str:
    """The verdict on a bash line."""
    home = str(settings.get("home", ""))
    return decide(facts(bash(line), home=home), *rules, **settings).verdict
