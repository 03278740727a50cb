"""The ladder by which a target is found again, and told from its look-alikes.

First the same element is looked for, then the same text: a rung is taken if exactly one element of
the screen fits. The texts around an element are a part of what identifies it (`surroundings.py`): a
look-alike in another row, dialog or program is not the target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hisa.plugins.replay.program_records import Target
from hisa.plugins.replay.surroundings import Surroundings, figureless, is_shown, says
from hisa.plugins.synthesis.exploration_acts import holders, is_usable, read_name
from hisa.screen.geometry import Point
from hisa.screen.hit_test import element_at, focused_element
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, LAYOUT
from hisa.state.facts import letters

__all__ = ["WINDOW", "Missing", "TargetMatch", "find_target", "focus_is", "target_of"]

WINDOW = "window in front"
"""Role of the target of keys if no element of the window in front is known to have the focus."""

_BUTTONS = frozenset({"push button", "button", "toggle button", "link", "menu item", "page tab"})
"""Roles that programs exchange for each other from one version to the next."""


@dataclass(frozen=True)
class TargetMatch:
    """A target on a look; ``point`` is in screen space."""

    point: Point
    element: Element


@dataclass(frozen=True)
class Missing:
    """The reason why a target cannot be acted on; waiting may help."""

    reason: str


def target_of(element: Element, observation: Observation, *, words: str = "") -> Target:
    """Returns the target of an element, by which `find_target` finds it again.

    Args:
        element: an element of the look.
        observation: the look, with elements.
        words: a description of it; empty for none.
    """
    around, box = Surroundings(observation), element.box
    bare = Target(
        role=element.role,
        name=read_name(element)[:4000],
        label=element.label[:4000],
        within=holders(element, observation.elements or ()),
        app=element.app[:4000],
        window=element.window[:4000],
        dialog=around.in_dialog(element),
        words=words[:4000],
        box=(round(box.left), round(box.top), round(box.right), round(box.bottom)),
    )
    same = _same(bare, around)
    nth = next((at for at, other in enumerate(same) if other is element), 0)
    beside = tuple(around.entry(element, same))
    return bare.model_copy(update={"alike": max(1, len(same)), "nth": nth, "beside": beside})


def find_target(
    target: Target, observation: Observation, place: Point | None, *, lax: bool = False
) -> TargetMatch | Missing:
    """Returns the match of a target on a look, or why it has none.

    Args:
        target: the target to look for.
        observation: the look, with elements.
        place: the point of the action in the target's box, in pixels of the program's screen; None
            for its middle.
        lax: if no row has the same texts, numbers in them may differ.
    """
    around = Surroundings(observation)
    chosen = _known(target, around, lax=lax)
    if isinstance(chosen, Missing):
        return chosen
    if around.is_cut(chosen):
        return Missing(f"{_words(target)} is out of sight")
    if not is_usable(chosen, observation):
        cover = element_at(chosen.box.centre, observation)
        covered = cover is not None and cover is not chosen
        by = f"is covered by {cover.role} “{read_name(cover)[:60]}”" if cover and covered else ""
        return Missing(f"{_words(target)} {by or 'cannot be used now'}")
    if front := _covering_title(chosen, observation):
        return Missing(f"{_words(target)} lies behind the window “{front[:60]}”")
    return TargetMatch(_inside(chosen, target, place), chosen)


def _covering_title(element: Element, observation: Observation) -> str:
    """The title of the active window if it covers an element of another window; else empty."""
    front = observation.active
    if front is None or front.box is None or element.window == front.title:
        return ""
    is_listed_window = element.window in {window.title for window in observation.windows}
    return front.title if is_listed_window and front.box.contains(element.box.centre) else ""


def focus_is(target: Target, observation: Observation, *, lax: bool = False) -> str:
    """Returns why keys would not go where they went before; empty if they would.

    Args:
        target: what had the focus when the program was made.
        observation: the newest look, with elements.
        lax: whether the title of a window, and numbers in the target's row, may differ.
    """
    focused, active = (
        focused_element(observation),
        observation.active.title if observation.active else "",
    )
    if target.role == WINDOW:
        same = lax or letters(active) == letters(target.name)
        return "" if same else f"the window in front is “{active[:60]}”, not “{target.name[:60]}”"
    known = _known(target, Surroundings(observation), lax=lax)
    held = f"{focused.role} “{read_name(focused)[:60]}”" if focused else "nothing that is known"
    if not isinstance(known, Missing) and "focused" in known.states:
        window = known.window  # a window behind keeps its focus
        if window == active or window not in {shown.title for shown in observation.windows}:
            return ""
        held = f"the window “{active[:60]}”" if active else "no window"
    return f"the keyboard belongs to {held}, not to {_words(target)}"


def _known(target: Target, around: Surroundings, *, lax: bool) -> Element | Missing:
    """The element that matches a target, whether it can be used or not."""
    similar = _same(target, around) or _by_text(target, around)
    if not similar:
        return Missing(f"{_words(target)} is not there")
    fitting = [element for element in similar if _fits(target, element, similar, around)]
    if lax and not fitting:
        figures = {"beside": tuple(figureless(text) for text in target.beside)}
        loose = target.model_copy(update=figures)
        fitting = [element for element in similar if _fits(loose, element, similar, around)]
    if not fitting:
        beside = ", ".join(target.beside[:3]) or "nothing"
        return Missing(f"{_words(target)} beside {beside} is not there; another row has one")
    chosen = fitting[0] if len(fitting) == 1 else _by_order(target, fitting)
    reason = f"{len(fitting)} things fit {_words(target)}, and nothing tells them apart"
    return chosen or Missing(reason)


def _fits(
    target: Target, element: Element, similar: Sequence[Element], around: Surroundings
) -> bool:
    """Whether the texts around an element are those that were around the target."""
    if not target.beside:
        return not around.in_row(element)
    return any(says(target.beside, row) for row in around.rows(element, similar))


def _words(target: Target) -> str:
    name = target.name or target.label
    return f"{target.role} “{name[:60]}”" if name else f"{target.role} without a name"


# ---------------------------------------------------------------- rungs


def _could_be(target: Target, element: Element, around: Surroundings) -> bool:
    """Whether an element is of the target's program, and in a dialog if the target was in one."""
    apps = target.app.casefold(), element.app.casefold()  # windows and trees write them in two ways
    foreign = all(apps) and apps[0] != apps[1]
    return is_shown(element) and not foreign and around.in_dialog(element) == target.dialog


def _same(target: Target, around: Surroundings) -> list[Element]:
    """The elements of the same role, words and containers, in reading order."""
    same = [
        element
        for element in around.elements
        if (element.role, read_name(element)) == (target.role, target.name)
        and (target.name or element.label == target.label)
        and _could_be(target, element, around)
        and holders(element, around.elements) == target.within
    ]
    return sorted(same, key=lambda element: (element.box.top, element.box.left))


def _by_text(target: Target, around: Surroundings) -> list[Element]:
    """The elements of the same kind and words, whatever their containers and spelling are now."""
    expected = _fold_text(target.name or target.label)
    if not expected:
        return []
    kinds = _BUTTONS if target.role in _BUTTONS else frozenset({target.role})
    kinds = FIELDS if target.role in FIELDS else kinds
    return [
        element
        for element in around.elements
        if element.role in kinds
        and expected in (_fold_text(read_name(element)), _fold_text(element.label))
        and _could_be(target, element, around)
    ]


def _fold_text(text: str) -> str:
    return re.sub(r"[\s_.…:*]+", " ", text).strip().casefold()


def _by_order(target: Target, fitting: Sequence[Element]) -> Element | None:
    """The one of the same place among look-alikes, if there are as many as before; else None."""
    if len(fitting) != target.alike or target.beside:
        return None
    ordered = sorted(fitting, key=lambda element: (element.box.top, element.box.left))
    return ordered[target.nth]


def _inside(element: Element, target: Target, place: Point | None) -> Point:
    """The same point of an element, whatever its size is now."""
    left, top, right, bottom = target.box
    box = element.box
    if place is None or right <= left or bottom <= top:
        return Point(*box.centre.to_pixels(), "screen")
    across, down = (place.x - left) / (right - left), (place.y - top) / (bottom - top)
    if not (0 <= across <= 1 and 0 <= down <= 1):
        return Point(*box.centre.to_pixels(), "screen")
    if element.role not in LAYOUT and box.width * box.height < 10_000:
        across = down = 0.5  # a small control is clicked in its middle
    return Point(
        *Point(box.left + across * box.width, box.top + down * box.height).to_pixels(), "screen"
    )
