"""Acts on a screen: how an element is told from its likes, found again, and used."""

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
from hisa.screen.lies_at import element_at
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import LAYOUT, MULTI_LINE

__all__ = ["CELL", "SETTLE", "ActFailed", "above", "act_on", "actions_of", "alike", "called"]
__all__ += ["find", "holders", "perform", "replay", "usable"]

CELL = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")
"""The name of a cell of a spreadsheet."""
_HOLDERS = frozenset(
    {"menu", "dialog", "alert", "file chooser", "tool bar", "page tab", "list item", "table row"}
    | {"panel", "grouping", "section", "form", "landmark", "popup menu", "option pane"}
    | {"internal frame"}
)
"""Roles whose names tell alike elements apart."""
_DRAWN_IN = frozenset({"static", "label", "image", "icon"})
SETTLE = 0.6
"""Seconds for a screen to come to rest after an act; `Environment.observe` stretches them."""
_WHEEL = 5
"""Clicks of the wheel for an act: a part of a page or list. Chosen by hand."""
_PATIENCE = 4.0  # seconds for an element to come; dialogs of a busy office program take that long


class ActFailed(ModelFacingError):
    """An act that could not be done: its element is not there, or is not usable."""


def called(element: Element) -> str:
    """The name of an element; of an icon without one, the text below it."""
    if element.name or element.role not in {"icon", "list item", "table cell"}:
        return element.name
    return element.text[:80]


def above(element: Element, elements: Sequence[Element]) -> Iterator[Element]:
    """The elements that hold one, innermost first; at most 60, for trees that run in a circle."""
    at = element.parent
    for _ in range(60):
        if at is None or not 0 <= at < len(elements):
            return
        yield elements[at]
        at = elements[at].parent


def holders(element: Element, elements: Sequence[Element]) -> tuple[str, ...]:
    """The names of what holds an element, outermost first; windows are not among them."""
    names = [
        one.name[:80]
        for one in above(element, elements)
        if one.name and one.role in _HOLDERS and one.name != element.name
    ]
    return tuple(reversed(names))


def usable(element: Element, look: Observation, kind: str = "click") -> bool:
    """Whether a click at its centre meets it: on the screen, drawn, sensitive, and on top.

    A wheel that is turned there (``kind`` is "scroll") moves what holds the thing on top as well.
    """
    box, centre = element.box, element.box.centre
    drawn = {"showing", "visible"} & element.states and min(box.width, box.height) >= 2
    inside = 0 <= centre.x < look.screen.width and 0 <= centre.y < look.screen.height
    if not drawn or not inside or not {"sensitive", "enabled"} & element.states:
        return False
    if kind == "scroll":
        return True
    if element.role == "menu":  # an open menu lies over everything
        return True
    top = element_at(centre, look)
    return top is None or top.box == element.box or top.role in LAYOUT | _DRAWN_IN


def act_on(element: Element, look: Observation, kind: str, **more: object) -> Act:
    """The act on an element of a look, told so that `find` finds it on another one."""
    within, name = holders(element, look.elements or ()), called(element)
    same = alike(element.role, name, within, look)
    nth = next((at for at, one in enumerate(same) if one is element), 0)
    of_it = {"role": element.role, "name": name, "within": within, "window": element.window}
    return Act.model_validate({"kind": kind, "nth": nth} | of_it | more)


def find(act: Act, look: Observation) -> Element | None:
    """The element that an act is about, on this look; None: it is not there, or not usable.

    Where what holds it has another name by now, one that is alike and alone is taken.
    """
    same = alike(act.role, act.name, act.within, look)
    if act.nth < len(same):
        return same[act.nth] if usable(same[act.nth], look, act.kind) else None
    same = alike(act.role, act.name, None, look)
    alone = [one for one in same if usable(one, look, act.kind)]
    return alone[0] if len(alone) == 1 else None


def alike(role: str, name: str, within: tuple[str, ...] | None, look: Observation) -> list[Element]:
    """The elements shown that an act may mean, in reading order; within: None is anywhere."""
    elements = look.elements or ()
    same = [
        one
        for one in elements
        if (one.role, called(one)) == (role, name) and {"showing", "visible"} & one.states
        if within is None or holders(one, elements) == within
    ]
    return sorted(same, key=lambda one: (one.box.top, one.box.left))


async def perform(environment: Environment, act: Act, element: Element | None) -> None:
    """Do an act on the element that `find` has for it; None where it needs none.

    Raises:
        ActFailed: it needs one.
        ActionRefused, EnvironmentFailed: as `Environment.act`.
    """
    if element is None and act.role:
        raise ActFailed(f'the {act.role} "{act.name}" is not there to {act.kind}')
    await environment.act(list(actions_of(act, element)))


def actions_of(act: Act, element: Element | None) -> Iterable[Action]:
    """The GUI actions of an act, in screen pixels; element: as for `perform`."""
    at = Point(*element.box.centre.rounded(), "screen") if element is not None else None
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
    """Do acts one after the other, each found on a fresh look and waited for some seconds.

    Returns:
        the look after the last one, at rest.

    Raises:
        ActFailed: which act could not be done, and why.
        EnvironmentFailed: the machine does not answer.
    """
    look = await environment.observe(elements=True, settle=SETTLE)
    for act in acts:
        element, limit = find(act, look) if act.role else None, Deadline(_PATIENCE)
        while act.role and element is None and not limit.passed:
            await asyncio.sleep(0.4)
            look = await environment.observe(elements=True, settle=SETTLE)
            element = find(act, look)
        await perform(environment, act, element)
        look = await environment.observe(elements=True, settle=SETTLE)
    return look
