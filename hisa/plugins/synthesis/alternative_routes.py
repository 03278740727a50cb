"""Other right ways to a candidate's end: by keys, by pasting, by another control.

A check that passes only for the way that exploration took does not check the task.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import islice

from hisa.actions import Hotkey, Press
from hisa.errors import ToolFailed
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.exploration_acts import ActFailed, find, read_name, replay
from hisa.plugins.synthesis.offers import MENU_ITEMS
from hisa.plugins.synthesis.proof_desktop import ProofDesktop
from hisa.plugins.synthesis.records import Act, Candidate
from hisa.plugins.synthesis.routes import acts_of
from hisa.protocols import Environment
from hisa.screen.observation import Observation
from hisa.screen.roles import MULTI_LINE

__all__ = ["Way", "other_ways"]

Way = Callable[[ProofDesktop], Awaitable[str]]
"""Takes the way on a desktop in its start state; returns a short text of what was done.

Raises `ActFailed` or `ToolFailed` if the way cannot be taken.
"""
_IN_MENUS = MENU_ITEMS | {"menu"}
_BY_SPACE = frozenset({"push button", "check box", "toggle button", "link"})
_BY_ARROWS = frozenset({"table cell", "icon", "list item", "radio button", "page tab"})
_GROUPS = frozenset({"table", "tree table", "list", "list box", "layered pane", "tree"})
_SHORTCUT = re.compile(r"\(((?:(?:Ctrl|Alt|Shift)\+)*(?:[A-Z0-9]|F[0-9]{1,2}))\)\s*$", re.I)
_STEPS = 30  # most keys pressed to reach an item or a control
_ARROWS = ("home", *["down"] * 8, "home", *["right"] * 8)  # keys that go through a list or a table
_REST = 0.3  # seconds after a key for a menu or the focus to be drawn


def other_ways(candidate: Candidate, exploration: Exploration) -> Iterator[tuple[str, Way]]:
    """Yields the ways to try, with their kinds, in order; one that passes is enough."""
    by_keys = _BY_SPACE | _BY_ARROWS | MENU_ITEMS
    if any("click" in act.kind and act.role in by_keys for act in candidate.acts):
        yield "keyboard", _by_keys
    if any(act.kind == "type" for act in candidate.acts):
        yield "paste", _by_pasting
    for acts in islice(_by_other_control(candidate, exploration), 2):
        yield "other place", partial(_by_acts, acts)


def _by_other_control(candidate: Candidate, exploration: Exploration) -> Iterator[tuple[Act, ...]]:
    """Yields other acts that made the same changes, each ending with another control."""
    used = {act.key for act in candidate.acts}
    for triple in exploration.triples:
        facts, elements = triple.differences.facts, triple.differences.elements
        same = set(candidate.changes) <= set(facts) and set(candidate.elements) <= set(elements)
        if not same or triple.failed or triple.act.key in used:
            continue
        if (route := exploration.route(triple.before)) is not None:
            used.add(triple.act.key)
            yield acts_of(exploration, [*route, triple])


async def _by_acts(acts: tuple[Act, ...], desktop: ProofDesktop) -> str:
    await replay(desktop.environment, acts)
    return " > ".join(act.name or act.text or "+".join(act.keys) for act in acts)


async def _by_keys(desktop: ProofDesktop) -> str:
    """Does the acts by keys: menus by F10 and arrows, controls by Tab, arrows and space."""
    environment, acts = desktop.environment, list(desktop.candidate.acts)
    replaced: list[str] = []
    while acts:
        act = acts.pop(0)
        if act.role == "combo box" and acts and acts[0].kind == "click":
            replaced.append(await _by_list(environment, act, acts.pop(0)))
        elif act.kind == "click" and act.role in _IN_MENUS:
            path = [act]
            while path[-1].role == "menu" and acts and acts[0].role in _IN_MENUS:
                path.append(acts.pop(0))
            replaced.append(await _by_menu(environment, path))
        elif act.kind in ("click", "double_click") and act.role in _BY_SPACE | _BY_ARROWS:
            replaced.append(await _by_tab(environment, act))
        else:
            await replay(environment, [act])
    if not replaced:
        raise ActFailed("none of its acts can be done by keys")
    return "; ".join(replaced)


async def _by_pasting(desktop: ProofDesktop) -> str:
    """Does the acts, and pastes texts from the clipboard instead of typing them."""
    for act in desktop.candidate.acts:
        if act.kind != "type":
            await replay(desktop.environment, [act])
            continue
        copy = f"printf %s {shlex.quote(act.text)} | xclip -selection clipboard >/dev/null 2>&1"
        if (await desktop.environment.execute(copy)).exit_code:
            raise ToolFailed("the clipboard accepts no text")
        click = act.model_copy(update={"kind": "click", "text": "", "keys": ()})
        observation = await replay(desktop.environment, [click] if act.role else [])
        field = find(act, observation) if act.role else None
        if field and field.role != "table cell" and not MULTI_LINE & field.states:
            await _press(desktop.environment, "ctrl", "a")
        await _press(desktop.environment, "ctrl", "v")
        if act.keys:
            await _press(desktop.environment, *act.keys)
    return "ctrl v for what was typed"


async def _press(environment: Environment, *keys: str) -> Observation:
    await environment.act([Press(keys[0]) if len(keys) == 1 else Hotkey(keys)])
    return await environment.observe(elements=True, settle=_REST)


async def _reach(
    environment: Environment, observation: Observation, act: Act, keys: Sequence[str]
) -> tuple[Observation, bool]:
    """Presses keys until the act's element has the focus; returns the last look, and if it has."""
    for key in (*keys, ""):
        for element in observation.elements or ():
            same = element.role == act.role and read_name(element) == act.name
            if same and {"selected", "focused"} & element.states:
                return observation, True
        if key:
            observation = await _press(environment, key)
    return observation, False


async def _by_menu(environment: Environment, path: list[Act]) -> str:
    """Opens the menu bar, goes to each item of the path, and presses Enter on the last."""
    observation = await _press(environment, "f10")
    for depth, act in enumerate(path):
        key = "down" if depth else "right"
        observation, is_reached = await _reach(environment, observation, act, [key] * _STEPS)
        if not is_reached:
            raise ActFailed(f'{key} does not reach the {act.role} "{act.name}"')
        if act.role != "menu":
            await _press(environment, "enter")
        elif depth:
            observation = await _press(environment, "right")
    return "f10, arrows, enter: " + " > ".join(act.name for act in path)


async def _by_list(environment: Environment, box: Act, option: Act) -> str:
    """Opens a list, goes to an option by arrows, and presses Enter."""
    observation = await replay(environment, [box])
    _, is_reached = await _reach(
        environment, observation, option, [*["up"] * 9, *["down"] * _STEPS]
    )
    if not is_reached:
        raise ActFailed(f'arrows do not reach the {option.role} "{option.name}"')
    await _press(environment, "enter")
    return f'arrows, enter: "{option.name}"'


async def _by_tab(environment: Environment, act: Act) -> str:
    """Goes to a control by Tab and presses space; in a list it goes by arrows, and Enter opens.

    If the control's name or description ends with a shortcut, as in "Bold (Ctrl+B)", presses that.
    """
    observation = await environment.observe(elements=True, settle=_REST)
    element = find(act, observation)
    if match := _SHORTCUT.search(f"{element.name} {element.description}" if element else ""):
        await _press(environment, *match[1].lower().split("+"))
        return match[1]
    opens = act.role == "link" or act.kind == "double_click"
    keys, last = (_ARROWS, "") if act.role in _BY_ARROWS else ((), "space")
    for _ in range(_STEPS):
        focused = {
            element.role for element in observation.elements or () if "focused" in element.states
        }
        if not keys or focused & {*_GROUPS, act.role}:
            observation, is_reached = await _reach(environment, observation, act, keys)
            if is_reached:
                if key := "enter" if opens else last:
                    await _press(environment, key)
                return f'tab, {"arrows" if keys else key}: "{act.name}"'
        observation = await _press(environment, "tab")
    raise ActFailed(f'tab does not reach the {act.role} "{act.name}"')
