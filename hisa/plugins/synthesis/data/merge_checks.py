"""The two checks of OS-Catalyst, 3.2: whether a second action can be told on the first one's look.

Check 1 is "similarity" (the whole pictures) and "rule" (the first action), check 2 "region" (the
second one's target). "gap" is none of them: there is no look, or a tool's call lies between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from hisa.actions import Click, Hotkey, Press, Scroll, points
from hisa.plugins.synthesis.data.atoms import Atom
from hisa.plugins.synthesis.data.trajectories import Look
from hisa.screen.geometry import BoundingBox, convert_box
from hisa.screen.observation import Element, Screenshot
from hisa.screen.similarity import outlines_alike, similarity

__all__ = ["CHECKS", "Pair", "Refusal", "check_pair", "in_pixels", "merge", "shown"]

Refusal = Literal["similarity", "rule", "region", "gap"]
CHECKS: tuple[Refusal, ...] = ("similarity", "rule", "region")
_SSIM = 0.9
"""More is alike; the paper's threshold."""
_OUTLINES = 0.9
"""Correlation of the outlines of one control, hovered and not; chosen by hand."""
_SHIFT = 3.0
"""Pixels by which a box may jump when it is redrawn with a focus ring; chosen by hand."""
_LEAVING = frozenset({"link", "page tab", "menu", "combo box", "tree item"})
"""Roles that a click opens or leaves the page by."""
_KEYS = frozenset(
    {"pageup", "pagedown", "pgup", "pgdn", "f5", "alt+left", "alt+right", "alt+tab", "alt+f4"}
    | {"ctrl+w", "ctrl+t", "ctrl+n", "ctrl+o", "ctrl+r", "ctrl+tab", "ctrl+plus", "ctrl+minus"}
)
"""Keys that scroll, zoom, or lead to another page or window."""


class Pair(BaseModel):
    """Two atoms, one after the other, and the checks that say no; each check is always made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: int
    """The place of the first atom in the run, from 0."""
    kinds: tuple[str, str]
    similarity: float | None = None
    refusals: tuple[Refusal, ...] = ()


def check_pair(number: int, first: Atom, second: Atom) -> Pair:
    """Make both checks on a pair.

    Raises:
        ValueError, OSError: a picture or its elements are damaged or gone.
    """
    earlier, later, kinds = first.before, second.before, (first.kind, second.kind)
    if earlier is None or later is None or first.tool or second.tool:
        return Pair(first=number, kinds=kinds, refusals=("gap",))
    alike = similarity(earlier.screenshot, later.screenshot)
    passed = (
        alike > _SSIM,
        not _changes_layout(first),
        _same_target(first, second, earlier, later),
    )
    refusals = tuple(check for check, fine in zip(CHECKS, passed, strict=True) if not fine)
    return Pair(first=number, kinds=kinds, similarity=round(alike, 4), refusals=refusals)


def merge(
    atoms: Sequence[Atom], pairs: Sequence[Pair], most: int, without: Collection[Refusal] = ()
) -> list[tuple[Atom, ...]]:
    """Merge greedily: an atom joins the sequence before it where no check that is on says no.

    Args:
        atoms: of a run.
        pairs: of them, each with the next.
        most: K, the longest sequence.
        without: checks that are off.
    """
    sequences: list[tuple[Atom, ...]] = [(atom,) for atom in atoms[:1]]
    for pair, atom in zip(pairs, atoms[1:], strict=True):
        if len(sequences[-1]) < most and set(pair.refusals) <= set(without):
            sequences[-1] += (atom,)
        else:
            sequences.append((atom,))
    return sequences


def shown(elements: Iterable[Element]) -> list[Element]:
    """Elements without those that are said to be hidden."""
    return [one for one in elements if not one.states or {"showing", "visible"} & one.states]


def in_pixels(look: Look, box: BoundingBox) -> BoundingBox:
    """A box of the screen in the pixels of a look's picture."""
    return convert_box(box, "image", screen=look.size, image=look.screenshot.size)


def _changes_layout(atom: Atom) -> bool:
    action, target = atom.actions[-1], atom.target
    if isinstance(action, Press | Hotkey):
        keys = (action.key,) if isinstance(action, Press) else action.keys
        return "+".join(keys).lower() in _KEYS
    opens = isinstance(action, Click) and target is not None and target.role in _LEAVING
    return isinstance(action, Scroll) or opens


def _same_target(first: Atom, second: Atom, earlier: Look, later: Look) -> bool:
    """Whether what the second action is about was there before the first one.

    What is typed goes to where the first action clicked or typed; its value may be typed by then.
    """
    places, target = points(second.actions), second.target
    if not places:
        goal = target or first.target
        return goal is None or not earlier.elements or _lists(earlier, goal, value=False)
    if target is not None and earlier.elements:
        return _lists(earlier, target, value=bool(points(first.actions)))
    at = places[-1]
    around = BoundingBox(at.x - 20, at.y - 12, at.x + 20, at.y + 12, "screen")
    box = target.box if target else around
    return outlines_alike(_cut(earlier, box), _cut(later, box)) > _OUTLINES


def _lists(look: Look, target: Element, *, value: bool) -> bool:
    """Whether a look has an element of this role, name, box and, where asked for, value."""
    return any(
        (one.role, one.name) == (target.role, target.name)
        and (not value or one.text == target.text)
        and all(abs(a - b) <= _SHIFT for a, b in zip(_sides(one), _sides(target), strict=True))
        for one in shown(look.elements)
    )


def _sides(element: Element) -> tuple[float, ...]:
    return element.box.left, element.box.top, element.box.right, element.box.bottom


def _cut(look: Look, box: BoundingBox) -> Screenshot:
    picture = look.screenshot
    whole = BoundingBox(0, 0, picture.size.width, picture.size.height)
    return picture.crop(in_pixels(look, box).intersection(whole) or whole)
