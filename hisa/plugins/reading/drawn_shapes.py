"""What is drawn on the screen and told by nobody: title bar buttons, arrows, ticks, icons.

What is found are ordinary things with a role and, where the shape tells it, a name. Nothing is
put where a toolkit usually draws it: each stands on a shape that was seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hisa.grounder.thing import READ, UNCHECKED, Thing, gaps, overlap, sides, square_around
from hisa.plugins.reading.blobs import Blob, find_blobs
from hisa.plugins.reading.control_parts import build_arrow
from hisa.plugins.reading.title_bars import title_buttons
from hisa.plugins.reading.tracks import build_handle
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import CONTAINERS, FIELDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["with_shapes"]

_CALLED = {
    "cross": "close", "plus": "plus", "minus": "minus", "check": "check mark", "star": "star",
    "magnifier": "search", "three dots": "more", "three lines": "menu", "bin": "delete",
    "bell": "notifications", "person": "user", "pencil": "edit", "eye": "show", "heart": "like",
    "house": "home", "gear": "settings", "padlock": "lock", "funnel": "filter", "pin": "pin",
    "plane": "plane", "arrow left": "arrow left", "arrow right": "arrow right",
    "arrow up": "arrow up", "arrow down": "arrow down",
}  # fmt: skip
"""What is done by what shows a sign, where that is known."""
_CELLS = frozenset({"table cell", "column header", "table column header", "cell"})
_ROWS = frozenset({"list item", "tree item", "table row", "table cell", "row"})
_TABS = frozenset({"page tab", "tab"})
_BUTTONS = frozenset({"push button", "toggle button", "push button menu", "split button"})
_PICTURES = _BUTTONS | {"menu item", "image", "icon", "link", "static", "section", "label"}
_TICKED = frozenset({"check box", "radio button", "toggle switch", "switch", "check menu item"})
_NEAR = 40
"""Pixels of the screen between an expander or a tick and its text."""
_UNKNOWN = 0.3
"""How sure a shape is that is none of the signs known."""
_UNKNOWN_SIZE = 8
"""Pixels of the picture; a smaller shape is no icon of its own."""
_EDGE = 2
"""Pixels of the screen beside its box within which a thing's border is drawn."""
_MISREAD = 2
"""Letters of what may be a sign that was read as text."""
_LARGER = 12
"""How many times larger a thing is than the sign that it shows, at most."""


def with_shapes(things: list[Thing], observation: Observation, *, arrows: bool) -> list[Thing]:
    """The things and what is drawn besides; those that show a sign are called by it too.

    Args:
        things: what is told and read.
        observation: the look that they are of.
        arrows: whether arrows are wanted; they go by the names of what they belong to.
    """
    drawn_things = _ShapeFinder(things, observation).find_all()
    return drawn_things if arrows else [t for t in drawn_things if t.role != "arrow part"]


@dataclass(frozen=True)
class _Shape:
    blob: Blob
    box: BoundingBox
    """In screen space."""

    @property
    def name(self) -> str:
        return self.blob.glyph.name

    @property
    def way(self) -> str:
        """The direction of an arrowhead; empty where it is none."""
        kind, _, way = self.name.partition(" ")
        return way if kind in ("triangle", "chevron") else ""

    @property
    def sure(self) -> float:
        return self.blob.glyph.sure if self.name else _UNKNOWN


class _ShapeFinder:
    """The shapes of a picture among the things that are told."""

    def __init__(self, things: list[Thing], observation: Observation) -> None:
        self._observation = observation
        self._things = things
        self._wider: dict[int, BoundingBox] = {}
        """What fields really take, where the toolkit tells too little of them."""
        self._shapes = [
            _Shape(blob, observation.convert_box(blob.box, "screen"))
            for blob in find_blobs(observation.screenshot)
        ]

    def find_all(self) -> list[Thing]:
        drawn_things: list[Thing] = []
        labelled: dict[int, Thing] = {}
        for window in self._observation.windows:
            drawn_things += title_buttons(window, self._observation)
        taken = [_wider(t.box) for t in drawn_things]
        for shape in self._shapes:
            if any(box.contains(shape.box.centre) for box in taken) or self._is_border(shape):
                continue
            owner = self._find_owner(shape)
            if owner is None or _is_ground(owner):
                drawn_things += self._build_free(shape)
            elif _shows(owner, shape):
                labelled[id(owner)] = _label_owner(labelled.get(id(owner), owner), shape)
            else:
                drawn_things += _inside(owner, shape, is_tick=self._among_ticks(shape))
        drawn_things += [build_handle(t, t.handle) for t in self._things if t.handle is not None]
        things = [labelled.get(id(t), t) for t in self._things if not _is_replaced(t, drawn_things)]
        things = [replace(t, box=box) if (box := self._wider.get(id(t))) else t for t in things]
        drawn = [t for t in drawn_things if t.element.name]
        things = [t for t in things if _may_hold(t) or not _is_misread(t, drawn)]
        return things + drawn_things

    def _find_owner(self, shape: _Shape) -> Thing | None:
        """The smallest thing that a shape stands in, of the window that is seen there."""
        import numpy as np

        at = shape.box.centre
        left, top, right, bottom = self._sides
        inside = np.flatnonzero((left <= at.x) & (at.x < right) & (top <= at.y) & (at.y < bottom))
        holding = [t for i in inside.tolist() if _may_hold(t := self._things[i])]
        # What lies behind a dialog or an open menu is not what is seen there.
        least_front = max((t.front for t in holding), default=0.0) - 0.1
        holding = [t for t in holding if t.front >= least_front]
        return min(holding, key=lambda t: (t.box.area, _is_ground(t)), default=None)

    def _is_border(self, shape: _Shape) -> bool:
        """Whether a line is the upper or lower edge of a thing, and no minus."""
        if shape.name != "minus":
            return False
        left, top, right, bottom = self._sides
        box, near = shape.box, shape.box.height + _EDGE
        along = (abs(left - box.left) <= near) & (abs(right - box.right) <= near)
        at_edge = (abs(top - box.centre.y) <= near) | (abs(bottom - box.centre.y) <= near)
        return bool((along & at_edge & (bottom - top > 2 * near)).any())

    @cached_property
    def _sides(self) -> NDArray[np.float64]:
        """Left, top, right and bottom of all things."""
        return sides(t.box for t in self._things)

    def _window_at(self, box: BoundingBox) -> str:
        """The title of the active window where it is there."""
        active = self._observation.active
        is_active = (
            active is not None and active.box is not None and active.box.contains(box.centre)
        )
        return active.title if is_active and active is not None else ""

    def _among_ticks(self, shape: _Shape) -> bool:
        """Whether it is a tick or an empty square, or stands below or above one in a list."""
        if not _is_tick(shape):
            return False
        return bool(shape.name) or any(
            abs(tick.box.centre.x - shape.box.centre.x) <= 2
            and abs(tick.box.width - shape.box.width) <= 2
            for tick in self._ticks
        )

    @cached_property
    def _ticks(self) -> list[_Shape]:
        return [s for s in self._shapes if s.blob.framed and s.name and _is_tick(s)]

    # ------------------------------------------------------------ what stands free

    def _build_free(self, shape: _Shape) -> list[Thing]:
        window = self._window_at(shape.box)
        if owner := self._find_field_beside(shape):
            return _inside(owner, shape)
        text = self._find_text_beside(shape)
        if text is not None and shape.way in ("right", "down"):
            name = "expand" if shape.way == "right" else "collapse"
            return [_build_thing("arrow part", name, shape, window, label=_words(text))]
        if text is not None and (shape.name == "square" or shape.blob.framed) and _is_tick(shape):
            element = _element("check box", "", shape, window, _tick_states(shape))
            labels = ((_words(text), 0.95),)
            return [Thing(element, shape.box, labels, drawn=shape.sure)]
        if shape.way:
            role = "scroll bar" if self._opposite(shape) else ""
            return [_build_thing("arrow part", shape.way, shape, window, label=role)]
        if shape.name in _CALLED:
            role = "image" if shape.name == "check" else "push button"
            return [_build_thing(role, _CALLED[shape.name], shape, window)]
        outlined = shape.name == "square" and shape.blob.framed and _is_tick(shape)
        owner_below = self._find_owner(shape) if outlined else None
        if outlined and (owner_below is None or owner_below.box.area > _LARGER * shape.box.area):
            return [_build_thing("image", "", shape, window)]
        if not shape.name and _may_be_icon(shape.blob) and not self._is_read(shape):
            return [_build_thing("image", "", shape, window)]
        return []

    def _find_field_beside(self, shape: _Shape) -> Thing | None:
        """The spin button or list whose arrows stand outside the box that is told."""
        if not (shape.way in ("up", "down") or shape.name in ("plus", "minus")):
            return None
        for thing in self._things:
            if thing.role in ("spin button", "combo box"):
                across, down = gaps(thing.box, shape.box)
                right = shape.box.left >= thing.box.right - thing.box.height
                if right and across <= 2 * thing.box.height and down <= -shape.box.height / 2:
                    field_box = self._wider.get(id(thing), thing.box)
                    self._wider[id(thing)] = _up_to(field_box, shape.box.right)
                    return thing
        return None

    def _find_text_beside(self, shape: _Shape) -> Thing | None:
        """The text right of a shape, close to it."""
        best: tuple[float, Thing] | None = None
        for thing in self._things:
            far = thing.box.left - shape.box.right
            if not -4 <= far <= _NEAR or not _words(thing):
                continue
            high = min(thing.box.bottom, shape.box.bottom) - max(thing.box.top, shape.box.top)
            if high >= 0.6 * shape.box.height and thing.box.height <= 3 * shape.box.height + 12:
                best = min(best or (far, thing), (far, thing), key=lambda pair: pair[0])
        return best[1] if best else None

    def _opposite(self, shape: _Shape) -> bool:
        """Whether the other arrow of a scroll bar stands in line with this one."""
        other = {"up": "down", "down": "up", "left": "right", "right": "left"}[shape.way]
        for at in self._shapes:
            if at.way == other and abs(at.box.area - shape.box.area) <= 0.4 * shape.box.area:
                x = abs(at.box.centre.x - shape.box.centre.x)
                y = abs(at.box.centre.y - shape.box.centre.y)
                if min(x, y) <= 2 and max(x, y) > 4 * shape.box.height:
                    return True
        return False

    def _is_read(self, shape: _Shape) -> bool:
        return any(t.role == READ and overlap(t.box, shape.box) > 0.5 for t in self._things)


def _may_hold(thing: Thing) -> bool:
    """Whether a shape may be a part of it; signs are read as a letter or two, by mistake."""
    return thing.role != "arrow part" and (thing.role != READ or len(thing.element.name) > _MISREAD)


def _up_to(box: BoundingBox, right: float) -> BoundingBox:
    return replace(box, right=max(right, box.right))


def _is_ground(owner: Thing) -> bool:
    """Whether it is only where other things stand."""
    ground = owner.role in CONTAINERS or owner.role in ("document web", "landmark", "canvas")
    return ground or owner.role in ("document spreadsheet", "status bar", "animation", "footer")


def _shows(owner: Thing, shape: _Shape) -> bool:
    """Whether a shape is all that a button or picture shows."""
    if shape.name not in _CALLED or owner.role not in _PICTURES:
        return False
    far = abs(owner.box.centre.x - shape.box.centre.x) / owner.box.width
    drawn = (
        square_around(shape.box) if shape.name == "three dots" else shape.box
    )  # dots are a thin line
    return owner.box.area <= _LARGER * drawn.area and far <= 0.15


def _label_owner(owner: Thing, shape: _Shape) -> Thing:
    trust = 0.9 if owner.is_bare else 0.8
    words = dict.fromkeys((_CALLED[shape.name], shape.name, f"{shape.blob.colour} {shape.name}"))
    return replace(owner, labels=(*owner.labels, *((word, trust) for word in words)))


def _inside(owner: Thing, shape: _Shape, *, is_tick: bool = False) -> list[Thing]:
    """Name a shape that stands in a thing that is told."""
    end = (shape.box.centre.x - owner.box.left) / max(owner.box.width, 1)
    role, way = owner.role, shape.way
    up_down = way or {"plus": "up", "minus": "down"}.get(shape.name, "")
    if role == "spin button" and up_down in ("up", "down") and end > 0.5:
        return [build_arrow(owner, up_down, _button(owner, shape), shape.sure)]
    if way == "down" and end > 0.55 and _drops_down(owner, shape):
        return [build_arrow(owner, "drop-down", _button(owner, shape), shape.sure)]
    if role == "scroll bar" and way:
        return [_build_thing("arrow part", way, shape, owner.element.window, label="scroll bar")]
    if role in _TABS and shape.name == "cross" and end > 0.5:
        return [
            _build_thing("push button", "Close", shape, owner.element.window, label=_words(owner))
        ]
    if role in _ROWS and end < 0.3 and is_tick:
        element = _element(
            "check box", _words(owner), shape, owner.element.window, _tick_states(shape)
        )
        return [Thing(element, shape.box, (), owner.front, shape.sure)]
    if role in _ROWS and way in ("right", "down") and end < 0.5:
        name = "expand" if way == "right" else "collapse"
        return [_build_thing("arrow part", name, shape, owner.element.window, label=_words(owner))]
    if role in FIELDS and end > 0.6 and shape.name in _CALLED:
        name = _CALLED[shape.name]
        return [_build_thing("push button", name, shape, owner.element.window, label=_words(owner))]
    return []


def _button(owner: Thing, shape: _Shape) -> BoundingBox:
    """The part of a field that reacts as its arrow says: its height, or the half of it."""
    x, y = shape.box.centre.x, shape.box.centre.y
    top, bottom, middle = owner.box.top, owner.box.bottom, owner.box.centre.y
    if abs(y - middle) > 0.1 * owner.box.height:
        top, bottom = (top, middle) if y < middle else (middle, bottom)
    half = max(shape.box.width, bottom - top) / 2
    return BoundingBox(
        x - half, min(top, shape.box.top), x + half, max(bottom, shape.box.bottom), "screen"
    )


def _drops_down(owner: Thing, shape: _Shape) -> bool:
    if owner.role in _BUTTONS:
        return owner.box.width > 1.2 * owner.box.height
    return owner.role == "combo box" or (owner.role in _CELLS and owner.box.width > 30)


def _wider(box: BoundingBox) -> BoundingBox:
    return BoundingBox(box.left - 4, box.top - 4, box.right + 4, box.bottom + 4, box.space)


def _is_tick(shape: _Shape) -> bool:
    box = shape.box
    known = shape.name in ("square", "check", "cross", "block", "minus", "")
    return known and 0.8 <= box.width / box.height <= 1.25 and shape.blob.box.width >= 9


def _tick_states(shape: _Shape) -> frozenset[str]:
    """The state of a tick, as far as its sign is known: on a selected row it may not be."""
    state = {"check": "checked", "cross": "checked", "square": UNCHECKED}.get(shape.name)
    return frozenset({state} if state else ())


def _may_be_icon(blob: Blob) -> bool:
    width, height = blob.box.width, blob.box.height
    return min(width, height) >= _UNKNOWN_SIZE and 0.5 <= width / height <= 2


def _is_misread(thing: Thing, drawn: Iterable[Thing]) -> bool:
    return thing.role == READ and any(overlap(thing.box, t.box) > 0.5 for t in drawn)


def _is_replaced(thing: Thing, drawn_things: Iterable[Thing]) -> bool:
    """Whether an arrow was guessed that is seen, there or a little aside."""
    if thing.role != "arrow part" or thing.drawn is not None:
        return False
    return any(
        t.role == "arrow part"
        and (t.element.name, t.element.label) == (thing.element.name, thing.element.label)
        and max(gaps(t.box, thing.box)) < 20
        for t in drawn_things
    )


def _build_thing(role: str, name: str, shape: _Shape, window: str, label: str = "") -> Thing:
    element = _element(role, name, shape, window, label=label)
    return Thing(element, square_around(shape.box), drawn=shape.sure)


def _element(
    role: str,
    name: str,
    shape: _Shape,
    window: str,
    states: frozenset[str] = frozenset(),
    label: str = "",
) -> Element:
    looks = f"{shape.blob.colour} {shape.name}".strip()
    return Element(
        role, name, shape.box, label=label, states=states, window=window, description=looks
    )


def _words(thing: Thing) -> str:
    return " ".join((thing.element.name or thing.element.text or thing.element.label).split())[:60]
