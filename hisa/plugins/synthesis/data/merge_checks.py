"""The two checks of OS-Catalyst, 3.2: whether a second action can be told on the first one's look.

Check 1 is "similarity" (the whole pictures) and "rule" (the first action), check 2 "region" (the
second one's target). "gap" is none of them: there is no look, or a tool's call lies between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from hisa.actions import Click, Hotkey, Press, Scroll, points
from hisa.plugins.synthesis.data.atoms import Atom
from hisa.plugins.synthesis.data.trajectories import Look
from hisa.screen.geometry import BoundingBox, convert_box
from hisa.screen.observation import Element, Screenshot
from hisa.screen.similarity import outlines_alike, similarity

__all__ = ["CHECKS", "Check", "Pair", "check_pair", "merge", "same_element"]

Check = Literal["similarity", "rule", "region"]
Refusal = Literal["similarity", "rule", "region", "gap"]
CHECKS: tuple[Check, ...] = get_args(Check)
_SSIM = 0.9
"""More is alike; the paper's threshold."""
_OUTLINES = 0.9
"""Correlation of the outlines of one control, hovered and not; chosen by hand."""
_SHIFT = 3.0
"""Pixels by which a box may jump when it is redrawn with a focus ring; chosen by hand."""
_LEAVING = frozenset({"link", "page tab", "menu", "menu item", "combo box", "tree item"})
"""Roles that a click opens or leaves the page by."""
_KEYS = frozenset({"pageup", "pagedown", "pgup", "pgdn", "f5", "browserback", "browserforward"})
_HOTKEYS = frozenset(
    {"alt+left", "alt+right", "alt+tab", "alt+f4", "ctrl+w", "ctrl+t", "ctrl+n", "ctrl+o"}
    | {"ctrl+r", "ctrl+pageup", "ctrl+pagedown", "ctrl+tab", "ctrl+plus", "ctrl+minus"}
)


class Pair(BaseModel):
    """Two atoms, one after the other, and the checks that say no; each check is always made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: int
    """The place of the first atom in the run, from 0."""
    kinds: tuple[str, str]
    similarity: float | None = None
    refusals: tuple[Refusal, ...] = ()

    def refused(self, without: Collection[Check] = ()) -> bool:
        """Whether a check says no that is not switched off."""
        return any(refusal not in without for refusal in self.refusals)


def check_pair(number: int, first: Atom, second: Atom) -> Pair:
    """Make both checks on a pair.

    Raises:
        ValueError, OSError: a picture or its elements are damaged or gone.
    """
    kinds = first.kind, second.kind
    earlier, later = first.before, second.before
    if earlier is None or later is None or first.tool or second.tool:
        return Pair(first=number, kinds=kinds, refusals=("gap",))
    alike = similarity(earlier.screenshot, later.screenshot)
    refused: dict[Refusal, bool] = {
        "similarity": alike <= _SSIM,
        "rule": _changes_layout(first),
        "region": not _same_target(first, second, earlier, later),
    }
    refusals = tuple(check for check, refuses in refused.items() if refuses)
    return Pair(first=number, kinds=kinds, similarity=round(alike, 4), refusals=refusals)


def merge(
    atoms: Sequence[Atom], pairs: Sequence[Pair], most: int, without: Collection[Check] = ()
) -> list[tuple[Atom, ...]]:
    """Merge greedily: each atom joins the sequence before it, of ``most`` at most, where it may."""

    def sequences() -> Iterator[tuple[Atom, ...]]:
        sequence = list(atoms[:1])
        for pair, atom in zip(pairs, atoms[1:], strict=True):
            if len(sequence) == most or pair.refused(without):
                yield tuple(sequence)
                sequence = []
            sequence.append(atom)
        yield tuple(sequence)

    return list(sequences()) if atoms else []


def same_element(target: Element, look: Look, *, value: bool = True) -> bool:
    """Whether an element list has an element of the same role, name, value and box.

    Args:
        target: an element of another look.
        look: whose list it is.
        value: False where the value may be another one.
    """
    return any(
        (one.role, one.name) == (target.role, target.name)
        and (not value or one.text == target.text)
        and _shift(one.box, target.box) <= _SHIFT
        for one in look.elements
        if not one.states or {"showing", "visible"} & one.states
    )


def _changes_layout(atom: Atom) -> bool:
    target = atom.target
    for action in atom.actions:
        if isinstance(action, Scroll):
            return True
        if isinstance(action, Press) and action.key.lower() in _KEYS:
            return True
        if isinstance(action, Hotkey) and "+".join(action.keys).lower() in _HOTKEYS:
            return True
        if isinstance(action, Click) and target is not None and target.role in _LEAVING:
            return True
    return False


def _same_target(first: Atom, second: Atom, earlier: Look, later: Look) -> bool:
    """Whether what the second action is about was there before the first one.

    What is typed goes to where the first action clicked or typed; its value may be typed by then.
    """
    places, target = points(second.actions), second.target
    if not places:
        goal = target or first.target
        return goal is None or not earlier.elements or same_element(goal, earlier, value=False)
    if target is not None and earlier.elements:
        typed = not points(first.actions) and same_element(target, earlier, value=False)
        return typed or same_element(target, earlier)
    at = places[-1]
    box = BoundingBox(at.x - 20, at.y - 12, at.x + 20, at.y + 12, "screen")
    cuts = (_cut(look, target.box if target else box) for look in (earlier, later))
    return outlines_alike(*cuts) >= _OUTLINES


def _cut(look: Look, box: BoundingBox) -> Screenshot:
    picture = look.screenshot
    inside = BoundingBox(0, 0, picture.size.width, picture.size.height)
    scaled = convert_box(box, "image", screen=look.size, image=picture.size)
    return picture.crop(scaled.intersection(inside) or inside)


def _shift(one: BoundingBox, other: BoundingBox) -> float:
    sides = (one.left - other.left, one.top - other.top)
    return max(map(abs, (*sides, one.right - other.right, one.bottom - other.bottom)))
