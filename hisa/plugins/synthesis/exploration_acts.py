"""Acts on a screen: how an element is identified, found again, and used."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence

from hisa.actions import Action, Button, Click, Hotkey, Press, Scroll, Write
from hisa.errors import ModelFacingError
from hisa.machine.patience import Deadline
from hisa.plugins.synthesis.records import Act
from hisa.protocols import Environment
from hisa.screen.geometry import Point
from hisa.screen.hit_test import element_at
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import LAYOUT, MULTI_LINE

__all__ = [
    "CELL",
    "SETTLE",
    "ActFailed",
    "above",
    "act_on",
    "actions_of",
    "find_candidates",
    "read_name",
]
__all__ += ["find", "holders", "is_usable", "perform", "replay"]

CELL = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")
"""The name of a cell of a spreadsheet."""
_HOLDERS = frozenset(
    {"menu", "dialog", "alert", "file chooser", "tool bar", "page tab", "list item", "table row"}
    | {"panel", "grouping", "section", "form", "landmark", "popup menu", "option pane"}
    | {"internal frame"}
)
"""Roles of containers whose names distinguish similar elements."""
_DRAWN_IN = frozenset({"static", "label", "image", "icon"})
SETTLE = 0.6
"""Seconds for a screen to come to rest after an act; `Environment.observe` may wait longer."""
_WHEEL = 5
"""Wheel clicks of one act: they scroll a part of a page or list. Chosen by hand."""
_PATIENCE = 4.0  # seconds to wait for an element; dialogs of a busy office program take that long


class ActFailed(ModelFacingError):
    """An act that could not be done: its element is missing, or not usable."""


def read_name(element: Element) -> str:
    """Returns the name of an element; for an icon, item or cell without one, its text."""
    if element.name or element.role not in {"icon", "list item", "table cell"}:
        return element.name
    return element.text[:80]


def above(element: Element, elements: Sequence[Element]) -> Iterator[Element]:
    """Yields the containers of an element, innermost first; at most 60, as a tree may be cyclic."""
    at = element.parent
    for _ in range(60):
        if at is None or not 0 <= at < len(elements):
            return
        yield elements[at]
        at = elements[at].parent


def holders(element: Element, elements: Sequence[Element]) -> tuple[str, ...]:
    """Returns the names of the containers of an element, outermost first, without windows."""
    names = [
        holder.name[:80]
        for holder in above(element, elements)
        if holder.name and holder.role in _HOLDERS and holder.name != element.name
    ]
    return tuple(reversed(names))


def is_usable(element: Element, observation: Observation, kind: str = "click") -> bool:
    """Whether a click at its centre reaches it: on the screen, drawn, sensitive, and on top.

    Args:
        element: the element.
        observation: the look that it is on.
        kind: of the act. For "scroll" it need not be on top: the wheel also scrolls the container
            of what is on top.
    """
    box, centre = element.box, element.box.centre
    drawn = {"showing", "visible"} & element.states and min(box.width, box.height) >= 2
    inside = 0 <= centre.x < observation.screen.width and 0 <= centre.y < observation.screen.height
    if not drawn or not inside or not {"sensitive", "enabled"} & element.states:
        return False
    if kind == "scroll":
        return True
    if element.role == "menu":  # an open menu lies over everything
        return True
    top = element_at(centre, observation)
    return top is None or top.box == element.box or top.role in LAYOUT | _DRAWN_IN


def act_on(element: Element, observation: Observation, kind: str, **more: object) -> Act:
    """Returns the act on an element, described so that `find` finds it on another look.

    Args:
        element: one of the look's elements.
        observation: the look.
        kind: of the act, see `Act`.
        more: further fields of the act, such as ``text``.
    """
    within, name = holders(element, observation.elements or ()), read_name(element)
    same = find_candidates(element.role, name, within, observation)
    nth = next((at for at, candidate in enumerate(same) if candidate is element), 0)
    element_fields = {
        "role": element.role,
        "name": name,
        "within": within,
        "window": element.window,
    }
    return Act.model_validate({"kind": kind, "nth": nth} | element_fields | more)


def find(act: Act, observation: Observation) -> Element | None:
    """Returns the element of an act on this look; None if it is missing or not usable.

    If its containers have other names by now, takes the one usable element of its role and name.
    """
    same = find_candidates(act.role, act.name, act.within, observation)
    if act.nth < len(same):
        return same[act.nth] if is_usable(same[act.nth], observation, act.kind) else None
    same = find_candidates(act.role, act.name, None, observation)
    alone = [candidate for candidate in same if is_usable(candidate, observation, act.kind)]
    return alone[0] if len(alone) == 1 else None


def find_candidates(
    role: str, name: str, within: tuple[str, ...] | None, observation: Observation
) -> list[Element]:
    """Returns the visible elements that an act may mean, in reading order.

    Args:
        role: of the element.
        name: of the element, as by `read_name`.
        within: names of its containers, as by `holders`; None: any.
        observation: the look to search.
    """
    elements = observation.elements or ()
    same = [
        element
        for element in elements
        if (element.role, read_name(element)) == (role, name)
        and {"showing", "visible"} & element.states
        if within is None or holders(element, elements) == within
    ]
    return sorted(same, key=lambda element: (element.box.top, element.box.left))


async def perform(environment: Environment, act: Act, element: Element | None) -> None:
    """Does an act.

    Args:
        environment: where to do it.
        act: what to do.
        element: the act's element, as `find` returns it; None if the act needs none.

    Raises:
        ActFailed: it needs an element.
        ActionRefused, EnvironmentFailed: as `Environment.act`.
    """
    if element is None and act.role:
        raise ActFailed(f'cannot {act.kind}: the {act.role} "{act.name}" is missing or not usable')
    await environment.act(list(actions_of(act, element)))


def actions_of(act: Act, element: Element | None) -> Iterable[Action]:
    """Yields the GUI actions of an act, in screen pixels; ``element`` is as for `perform`."""
    at = Point(*element.box.centre.to_pixels(), "screen") if element is not None else None
    if act.kind in ("click", "double_click", "right_click") and at:
        button: Button = "right" if act.kind == "right_click" else "left"
        yield Click(at, button=button, count=2 if act.kind == "double_click" else 1)
    elif act.kind == "scroll" and at:
        yield Scroll(dy=_WHEEL if act.text == "up" else -_WHEEL, at=at)
    elif act.kind == "type":
        if at and element:
            yield Click(at)
            if not (MULTI_LINE & element.states) and element.role != "table cell":
                yield Hotkey(("ctrl", "a"))
        yield Write(act.text)
    if act.keys:
        yield Press(act.keys[0]) if len(act.keys) == 1 else Hotkey(act.keys)


async def replay(environment: Environment, acts: Iterable[Act]) -> Observation:
    """Does acts one after the other; each element is looked for on a fresh look for some seconds.

    Returns:
        The look after the last one, at rest.

    Raises:
        ActFailed: an act could not be done.
        EnvironmentFailed: the machine does not answer.
    """
    observation = await environment.observe(elements=True, settle=SETTLE)
    for act in acts:
        element, limit = find(act, observation) if act.role else None, Deadline(_PATIENCE)
        while act.role and element is None and not limit.passed:
            await asyncio.sleep(0.4)
            observation = await environment.observe(elements=True, settle=SETTLE)
            element = find(act, observation)
        await perform(environment, act, element)
        observation = await environment.observe(elements=True, settle=SETTLE)
    return observation
