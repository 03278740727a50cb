"""Other right ways to a candidate's end: by keys, at another place, by a tool, from a shell.

A check that takes only the way that exploration went is no check of the task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

from hisa.actions import Hotkey, Press
from hisa.errors import ToolFailed
from hisa.plugins.synthesis.doing import ActFailed, called, find, holders, replay
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.mutants import MENU_ITEMS
from hisa.plugins.synthesis.proof_desktop import ProofDesktop, telling
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.rewrite import write_command
from hisa.plugins.synthesis.task_records import Candidate
from hisa.protocols import Environment
from hisa.screen.observation import Element, Observation
from hisa.tools.calling import call_tool
from hisa.tools.registry import discover

__all__ = ["Way", "other_ways", "shortcut"]

Way = Callable[[ProofDesktop], Awaitable[str]]
"""Goes the way on a desktop that is as at the start; returns what was done, in short.

Raises `ActFailed` or `ToolFailed` where it cannot be gone.
"""
_BY_SPACE = frozenset({"push button", "check box", "toggle button", "link"})
_BY_ARROWS = frozenset({"table cell", "icon", "list item", "radio button", "page tab"})
_GROUPS = frozenset({"table", "tree table", "list", "list box", "layered pane", "tree"})
_KEYS = re.compile(r"\(?((?:(?:Ctrl|Alt|Shift|Super)\s?\+\s?)+[A-Z0-9]|F[0-9]{1,2})\)?\s*$", re.I)
_STEPS = 30
"""Keys at most until an item or a control must have been reached."""
_REST = 0.3
"""Seconds for a menu or a focus to be drawn after a key."""


def other_ways(candidate: Candidate, exploration: Exploration) -> Iterator[tuple[str, Way]]:
    """Ways to try, in order; one that passes is enough."""
    by_keys = _BY_SPACE | _BY_ARROWS | MENU_ITEMS
    if any("click" in act.kind and act.role in by_keys for act in candidate.acts):
        yield "keyboard", _by_keys
    if calls := _tool_calls(candidate):
        yield "toolkit", _by_tools(calls)
    for acts in _elsewhere(candidate, exploration):
        yield "other place", _by_acts(acts)
    commands = [write_command(one.fact, one.after) for one in telling(candidate.changes)]
    if commands and None not in commands:
        yield "shell", _from_shell


async def _from_shell(desktop: ProofDesktop) -> str:
    await desktop.write("after")
    return "facts set by commands"


def _elsewhere(candidate: Candidate, exploration: Exploration) -> list[tuple[Act, ...]]:
    """Acts by which exploration came to the same changes, ending with another control."""
    ways: dict[tuple[str, ...], tuple[Act, ...]] = {}
    used = {act.key for act in candidate.acts}
    for triple in exploration.triples:
        facts, elements = triple.differences.facts, triple.differences.elements
        same = set(candidate.changes) <= set(facts) and set(candidate.elements) <= set(elements)
        if not same or triple.failed or triple.act.key in {*used, *ways}:
            continue
        if acts := exploration.acts_to(triple):
            ways[triple.act.key] = acts
    return [*list(ways.values())[:2], *_in_menu(candidate.acts, exploration)]


def _in_menu(acts: tuple[Act, ...], exploration: Exploration) -> Iterator[tuple[Act, ...]]:
    """The acts, with the last button's namesake in a menu in its place."""
    at = max((at for at, act in enumerate(acts) if act.role in _BY_SPACE), default=None)
    for state in exploration.states.values() if at is not None else ():
        elements = exploration.elements(state)
        for one in elements:
            if one.role in MENU_ITEMS and called(one).rstrip(".…") == acts[at or 0].name:
                menus = holders(one, elements)
                steps = [("menu", name, menus[:depth]) for depth, name in enumerate(menus)]
                path = [
                    Act(kind="click", role=role, name=name, within=within)
                    for role, name, within in (*steps, (one.role, called(one), menus))
                ]
                yield (*acts[: at or 0], *path, *acts[(at or 0) + 1 :])
                return


def _by_acts(acts: tuple[Act, ...]) -> Way:
    async def way(desktop: ProofDesktop) -> str:
        await replay(desktop.environment, acts)
        return " > ".join(act.name or act.text or "+".join(act.keys) for act in acts)

    return way


async def _by_keys(desktop: ProofDesktop) -> str:
    """The acts with menus by F10 and arrows, and controls by Tab, arrows and space."""
    environment, acts = desktop.environment, list(desktop.candidate.acts)
    replaced: list[str] = []
    while acts:
        act = acts.pop(0)
        if act.kind == "click" and act.role in MENU_ITEMS | {"menu"}:
            path = [act]
            while path[-1].role == "menu" and acts and acts[0].role in MENU_ITEMS | {"menu"}:
                path.append(acts.pop(0))
            replaced.append(await _by_menu(environment, path))
        elif act.kind == "click" and act.role in _BY_SPACE:
            replaced.append(await _by_space(environment, act))
        elif act.kind in ("click", "double_click") and act.role in _BY_ARROWS:
            replaced.append(await _by_arrows(environment, act))
        else:
            await replay(environment, [act])
    if not replaced:
        raise ActFailed("nothing of it can be done by keys alone")
    return "; ".join(replaced)


async def _press(environment: Environment, *keys: str) -> Observation:
    await environment.act([Press(keys[0]) if len(keys) == 1 else Hotkey(keys)])
    return await environment.observe(elements=True, settle=_REST)


async def _reach(
    environment: Environment, look: Observation, act: Act, *keys: str
) -> tuple[Observation, Element]:
    """Press keys, joined by plus, until the keyboard is on the act's element.

    Raises:
        ActFailed: it never is.
    """
    for key in (*keys, ""):
        for element in look.elements or ():
            same = element.role == act.role and called(element) == act.name
            if same and {"selected", "focused"} & element.states:
                return look, element
        if key:
            look = await _press(environment, *key.split("+"))
    raise ActFailed(f'{keys[-1]} does not come to the {act.role} "{act.name}"')


async def _by_menu(environment: Environment, path: list[Act]) -> str:
    """Open the menu bar, go to each of the path, and enter; a shortcut that is told is taken."""
    look = await _press(environment, "f10")
    for depth, act in enumerate(path):
        keys = ["down" if depth else "right"] * _STEPS
        look, element = await _reach(environment, look, act, *keys)
        if act.role != "menu":
            if shortcut(element):
                for _ in path:
                    await _press(environment, "esc")
                await _press(environment, *shortcut(element))
                return " ".join(shortcut(element))
            await _press(environment, "enter")
        elif depth:
            look = await _press(environment, "right")
    return "f10, arrows, enter: " + " > ".join(act.name for act in path)


async def _by_space(environment: Environment, act: Act) -> str:
    """Go to a control by Tab, and press space; a shortcut that its description tells is taken."""
    look = await environment.observe(elements=True, settle=_REST)
    element = find(act, look)
    if element is not None and shortcut(element):
        await _press(environment, *shortcut(element))
        return " ".join(shortcut(element))
    await _reach(environment, look, act, *["tab"] * _STEPS)
    key = "enter" if act.role == "link" else "space"
    await _press(environment, key)
    return f'tab, {key}: "{act.name}"'


async def _by_arrows(environment: Environment, act: Act) -> str:
    """Go to a list, table or group by Tab, and to one of its own by arrows; enter opens it."""
    look = await environment.observe(elements=True, settle=_REST)
    if act.role == "page tab":
        await _reach(environment, look, act, *["ctrl+pagedown"] * 6, *["ctrl+pageup"] * 6)
        return f'ctrl pagedown: "{act.name}"'
    for _ in range(_STEPS):
        focused = [one for one in look.elements or () if "focused" in one.states]
        if any(one.role in _GROUPS | {act.role} for one in focused):
            keys = ("home", *["down"] * 8, "home", *["right"] * 8)
            with suppress(ActFailed):
                await _reach(environment, look, act, *keys)
                if act.kind == "double_click":
                    await _press(environment, "enter")
                return f'tab, arrows: "{act.name}"'
        look = await _press(environment, "tab")
    raise ActFailed(f'arrows do not come to the {act.role} "{act.name}"')


def shortcut(element: Element) -> tuple[str, ...]:
    """The keys that an element's name or description ends with, as "Bold (Ctrl+B)"; or none."""
    for text in (element.description, element.name):
        if match := _KEYS.search(text):
            return tuple(key.strip().lower() for key in match[1].split("+"))
    return ()


_STYLES = {
    "bold": "bold", "italic": "italic", "underline": "underline", "strike": "strikethrough",
    "color": "color", "background": "background", "align": "horizontal",
}  # fmt: skip
"""Parts of a cell's facts, and the argument of the tool ``calc_style`` that sets each."""


def _tool_calls(candidate: Candidate) -> list[tuple[str, dict[str, Any]]]:
    """The calls of installed tools that make the changes; none: not all can be made so.

    A cell's value is written where the acts typed it; formulas bring the others along.
    """
    typed = {act.text for act in candidate.acts if act.text}
    calls: list[tuple[str, dict[str, Any]]] = []
    for change in telling(candidate.changes):
        cell, _, part = change.fact.item.rpartition("/")
        value: str | bool = change.after or ""
        if not (cell and change.fact.kind == "document" and change.fact.place.endswith(".ods")):
            return []
        if part in ("value", "formula"):
            if value in typed:
                calls.append(("calc_write", {"cell": cell, "values": [[value]]}))
            continue
        if part in ("bold", "italic", "underline", "strike"):
            value = value not in ("", "none", "normal", "false")
        elif part not in _STYLES or not value:
            return []
        calls.append(("calc_style", {"cells": cell, _STYLES[part]: value}))
    return [*calls, ("calc_save", {})] if calls else []


def _by_tools(calls: list[tuple[str, dict[str, Any]]]) -> Way:
    async def way(desktop: ProofDesktop) -> str:
        tools = {tool.name: tool for tool in discover()[0]}
        for name, arguments in calls:
            if name not in tools:
                raise ToolFailed(f"the tool {name} is not installed")
            outcome = await call_tool(tools[name], arguments, desktop.environment)
            if not outcome.ok:
                raise ToolFailed(f"{name}: {outcome.error[:300]}")
        return ", ".join(f"{name} {json.dumps(arguments)}" for name, arguments in calls)[:500]

    return way
