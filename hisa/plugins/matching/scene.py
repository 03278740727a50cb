"""The things on a screen to choose from: elements, their parts, and text read off the picture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hisa.grounder.announced_parts import with_lists
from hisa.grounder.thing import READ, SHOWS_TEXT, Covering, Thing, gaps, lines, overlap, sides
from hisa.machine.lazy_property import lazy_property
from hisa.plugins.matching.shown_parts import find_covers, is_outlined, within_holders
from hisa.screen.bubbles import TOPS, bubbles
from hisa.screen.colours import colour_of
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import CONTAINERS, FIELDS
from hisa.text.similar import similarity
from hisa.text.words import tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Scene"]

_HIDDEN = str.maketrans("", "", "\ufffc\u200b\xa0")
"""Characters that stand for embedded objects, and invisible blanks."""
_MARKUP = re.compile(r"</?[a-z][a-z0-9]*(?: [^<>]*)?/?>", re.I)
_LAST_WORD = re.compile(r"(?<=\w)[\s,;:(*]+(\w+)\W*$")
_LABELLED = (
    FIELDS
    | {"toggle button"}
    | {"slider", "check box", "radio button", "toggle switch", "switch", "list box"}
)
_BESIDE = 640
"""Most screen pixels between a label and its control; chosen by hand."""
_BESIDE_READ = 240
"""The same for a line read off the picture, which may belong to a menu that accessibility does not
list. The training screens give as many right and wrong as with 640."""
_ATOP = 45
"""The same for a label above its control."""
_CELL = re.compile(r"(?P<kind>.*?)\bcell\b", re.I)
"""A name with the sort of a cell: "Code Cell Content" is a cell called "Code"."""
_LONG = 60
"""Most characters of a label."""

_CARET = 4
"""Screen pixels; a field of at most this width is not the visible one, but inside it."""
_FIELD_HIGH = 80
"""Most height of the visible field then, in screen pixels."""
_HOLDERS = frozenset({"section", "panel", "grouping", "combo box"})
_PAGE_SHARE = 0.8
"""Share of the screen from which a dialog counts as the page itself."""
_MIN_LIKENESS = 0.8
"""As for words inside a line; a name that was read with one wrong letter is above it."""
_INSIDE = 0.8
"""Least share of a paragraph inside the cell to which it belongs."""


class Scene:
    """The visible things of an observation, ready to be scored.

    Args:
        observation: the look.
        read: lines read off the picture, as elements in screen space.
        parts: whether arrows of fields are separate things.
        shapes: whether things that are only drawn are included; a new picture takes some 0.1 s.
    """

    def __init__(
        self,
        observation: Observation,
        read: tuple[Element, ...] = (),
        *,
        parts: bool = False,
        shapes: bool = False,
    ) -> None:
        self.observation = observation.without_pointer
        elements = tuple(map(_clean, observation.elements or ()))
        # Collectors differ in the states they report: a state that none reports excludes nothing.
        reported = {state for element in elements for state in element.states}
        self._reports_showing = bool(reported & {"showing", "visible"})
        self._reports_enabled = bool(reported & {"enabled", "sensitive"})
        modal = [e for e in elements if "modal" in e.states and e.window]
        # LibreOffice has another name in X than in its tree; the title says what is in front then.
        if active := observation.active:
            modal = [e for e in modal if e.window == active.title or e.app == active.app]
        self._modal = {e.app for e in modal}
        pages = [e.box for e in elements if e.role == "document web"]
        written = [e for e in elements if e.role == "paragraph" and e.text]
        titled = [e for e in elements if e.role == "section" and _tip(e) and not e.text]
        held = [e for e in elements if e.text and (e.role == "heading" or e.role in FIELDS)]
        self._elements = tuple(
            _with_title(
                _cell_of_page(_with_paragraphs(_field_of_page(element, pages), written), held),
                titled,
            )
            for element in elements
        )
        self._read = read
        self._parts = parts
        self._shapes = shapes

    @lazy_property
    def screen(self) -> BoundingBox:
        """The whole screen."""
        size = self.observation.screen
        return BoundingBox(0, 0, size.width, size.height, "screen")

    @lazy_property
    def things(self) -> list[Thing]:
        """Everything that can be seen."""
        numbered = [
            (number, element, box)
            for number, (element, part) in enumerate(
                zip(self._elements, self._parts_shown, strict=True)
            )
            if self._shown(element)
            and (box := self._shown_box(element, part).intersection(self.screen))
            and box.area >= 4
        ]
        shown = [(element, box) for _, element, box in numbered]
        texts = [(_words(e), box) for e, box in shown if _may_label(e)]
        lines = [(e.name, e.box) for e in self._read if len(e.name) <= _LONG]
        named = [(e.name, b) for e, b in shown if e.name and e.role in CONTAINERS - {"frame"}]
        heads = [(e.name, box) for e, box in shown if "column header" in e.role and e.name]
        things = []
        for number, element, box in numbered:
            e = self._with_read(element, box)
            labels: tuple[tuple[str, float], ...] = ()
            if e.role in _LABELLED:
                near = [(text, at) for text, at in lines if gaps(box, at)[0] <= _BESIDE_READ]
                labels = _find_labels(e, box, (*texts, *near), named) + _label_by_header(box, heads)
            front, cover = self._front(element, box), self._cover(element)
            thing = Thing(e, box, labels, front, cover=cover, number=number)
            things.append(self.convert_framed(thing) if number in self._empty else thing)
        things += [_drawn_on(e, things) for e in self._read if not _is_in_tree(e, things)]
        return with_lists(things, self.observation, parts=self._parts, drawn=self._shapes)

    def _shown(self, element: Element) -> bool:
        return not self._reports_showing or bool(element.states & {"showing", "visible"})

    def _shown_box(self, element: Element, box: BoundingBox) -> BoundingBox:
        """Returns the box of an element; for a field as narrow as its caret, its container's box.

        Pages that draw their own drop-downs have such a field for typing.
        """
        if element.role not in FIELDS | {"combo box"} or box.width > _CARET:
            return box
        boxes = (e.box for e in filter(self._shown, self._elements) if e.role in _HOLDERS)
        holders = (b for b in boxes if b.contains(box.centre) and b.height <= _FIELD_HIGH)
        return min((b for b in holders if b.width > _CARET), key=lambda b: b.area, default=box)

    def convert_framed(self, thing: Thing) -> Thing:
        """Returns an empty part of a page as an image, if the picture shows a frame around it."""
        observation, box = self.observation, thing.box
        if not is_outlined(box, observation):
            return thing
        colour = colour_of(
            observation.screenshot, observation.convert_box(box, "image")
        ).removeprefix("white")
        picture = replace(thing.element, role="image", description=f"{colour} empty box".strip())
        return replace(thing, element=picture, drawn=1.0)

    def _cover(self, element: Element) -> Covering | None:
        """Returns the element that covers another one completely."""
        cover = self._coverings.get(id(element))
        return None if cover is None or cover.rest else cover

    def _front(self, element: Element, box: BoundingBox) -> float:
        """Returns a factor, 1 if the element is enabled, in the active window and not covered."""
        usable = bool(element.states & {"enabled", "sensitive"}) or not self._reports_enabled
        factor = 1.0 if usable else 0.93
        active = self.observation.active
        cover = self._cover(element)
        factor *= self._beneath(element, box) * (0.5 if cover and cover.is_certain else 1.0)
        if any(over.contains(box.centre) for over in self._menus) and not _in_menu(element):
            return factor * 0.6
        if active is None or not element.window or element.window in self._bubbles:
            return factor
        if any(bubble.contains(box.centre) for bubble in self._bubbles.values()):
            return factor * 0.5
        if element.window == active.title:
            return factor
        covered = active.box is not None and active.box.contains(box.centre)
        covered = covered and element.window not in self._above
        if element.app in self._modal or (covered and self._reports_active):
            return factor * 0.5
        return factor * (0.6 if covered or active.app == element.app else 0.85)

    @lazy_property
    def _bubbles(self) -> Mapping[str, BoundingBox]:
        return bubbles(self.observation)

    @lazy_property
    def _above(self) -> frozenset[str]:
        """The titles of windows kept above the active one, such as palettes."""
        windows = self.observation.windows
        place = next((row for row, window in enumerate(windows) if window.active), len(windows))
        return frozenset(window.title for window in windows[place + 1 :])

    @lazy_property
    def _reports_active(self) -> bool:
        """Whether accessibility lists the active window by the same title as X."""
        active = self.observation.active
        return active is not None and any(e.window == active.title for e in self._elements)

    @lazy_property
    def _popup(self) -> tuple[BoundingBox, frozenset[int]] | None:
        """The front window if it has no title, and the elements before it in the tree."""
        tops = [
            index
            for index, e in enumerate(self._elements)
            if e.role in TOPS and "active" in e.states and not e.name
        ]
        if not tops:
            return None
        return self._elements[tops[-1]].box, frozenset(map(id, self._elements[: tops[-1]]))

    def _beneath(self, element: Element, box: BoundingBox) -> float:
        if self._popup is None or id(element) not in self._popup[1]:
            return 1.0
        return 0.5 if self._popup[0].contains(box.centre) else 0.8

    @lazy_property
    def _cut(self) -> list[BoundingBox]:
        return [element.box for element in within_holders(self._elements)]

    @lazy_property
    def _coverings(self) -> dict[int, Covering]:
        """The covers of elements in their own page or window, if the tree shows them."""
        observation = replace(self.observation, elements=self._elements)
        return {
            id(self._elements[n]): over for n, over in find_covers(observation, self._cut).items()
        }

    @lazy_property
    def _empty(self) -> frozenset[int]:
        """The numbers of parts of pages without content, if the tree has parents."""
        holders = {element.parent for element in self._elements}
        numbered = enumerate(self._elements)
        empty = (n for n, e in numbered if e.role == "section" and n not in holders)
        has_parents = None not in holders
        return frozenset(n for n in empty if has_parents and not _has_content(self._elements[n]))

    @lazy_property
    def _parts_shown(self) -> list[BoundingBox]:
        """The visible part of each element."""
        over = (self._coverings.get(id(element)) for element in self._elements)
        pairs = zip(over, self._cut, strict=True)
        return [cover.rest if cover and cover.rest else box for cover, box in pairs]

    @lazy_property
    def _menus(self) -> list[BoundingBox]:
        """The boxes of the items of open menus."""
        return [e.box for e in self._elements if "menu item" in e.role and self._shown(e)]

    @lazy_property
    def open_overlays(self) -> list[tuple[str, BoundingBox]]:
        """Dialogs, calendars and menu items that opened inside a window, over the rest of it.

        A separate window is not among them: `Thing.front` says what is behind it.
        """
        titles = {window.title for window in self.observation.windows}
        large = _PAGE_SHARE * self.screen.area
        menus = [("menu", b) for b in self._menus if any(_is_stacked(b, at) for at in self._menus)]
        return menus + [
            ("calendar" if e.role == "calendar" else "dialog", e.box)
            for e in filter(self._shown, self._elements)
            if e.role == "calendar"
            or (e.role in ("dialog", "alert") and e.name not in titles and e.box.area < large)
        ]

    def _with_read(self, element: Element, box: BoundingBox) -> Element:
        """Returns a control with the text read inside it, if accessibility lists none."""
        silent = not (element.name or element.text) and element.role not in CONTAINERS
        # A page lists the text of its fields: text read in an empty one is drawn over it.
        silent &= not {"editable", "multi-line"} <= element.states
        if not silent or not self._read or box.height > 60:
            return element
        inside = [e.name for e in self._read if overlap(box, e.box) > 0.8]
        return replace(element, text=max(inside, key=len)) if inside else element

    @lazy_property
    def word_boxes(self) -> list[tuple[BoundingBox, frozenset[str]]]:
        """The words of every thing with a short name, and its box."""
        rows = []
        for thing in self.things:
            text = _words(thing.element) or thing.element.description
            if not text or len(text) > _LONG or thing in self.running:
                continue
            if thing.role not in ("frame", "document web"):
                rows.append((thing.box, tokens(text)))
        return rows

    @lazy_property
    def _word_sides(self) -> NDArray[np.float64]:
        """Left, top, right and bottom of `word_boxes`, as arrays, since there may be many."""
        return sides(box for box, _ in self.word_boxes)

    @lazy_property
    def frequency(self) -> Counter[str]:
        """The number of things that have each word in their name."""
        return Counter(word for _, words in self.word_boxes for word in words)

    def around(self, thing: Thing) -> frozenset[str]:
        """Returns the words on the line of a thing, and those of its containers and headers."""
        import numpy as np

        box, near_words = thing.box, set[str]()
        left, top, right, bottom = self._word_sides
        high = bottom - top
        shared = np.minimum(box.bottom, bottom) - np.maximum(box.top, top)
        x, y = box.centre.x, box.centre.y
        holds = (left <= x) & (x < right) & (top <= y) & (y < bottom)
        level = (high <= 2.5 * box.height + 10) | holds
        level &= shared >= 0.5 * np.minimum(box.height, high)
        for row in np.flatnonzero(level).tolist():
            near_words |= self.word_boxes[row][1]
        for at, words in self._headers:
            if at.left <= box.centre.x < at.right and at.bottom <= box.centre.y:
                near_words |= words
        return frozenset(near_words)

    @lazy_property
    def _headers(self) -> list[tuple[BoundingBox, frozenset[str]]]:
        return [
            (t.box, tokens(t.element.name))
            for t in self.things
            if t.role.endswith("column header") and t.element.name
        ]

    @lazy_property
    def running(self) -> frozenset[Thing]:
        """Texts that are part of a sentence: another text continues right beside them."""
        texts = [t for t in self.things if t.role in ("static", "link") and t.element.name]
        parts = set()
        for row in lines(texts):
            for first, second in pairwise(row):
                if -4 <= second.box.left - first.box.right <= 7 and "static" in (
                    first.role,
                    second.role,
                ):
                    parts |= {t for t in (first, second) if t.role == "static"}
        return frozenset(parts)

    def inner(self, thing: Thing) -> Thing:
        """Returns the control of the same name in a cell or header, or else the thing itself."""
        if thing.role not in ("table cell", "column header", "table column header", "list item"):
            return thing
        same = (
            t
            for t in self.things
            if t.role in ("push button", "link", "check box", "toggle button")
            and overlap(thing.box, t.box) > 0.9
            and t.element.name == thing.element.name
        )
        return next(same, thing)

    @lazy_property
    def names(self) -> Counter[str]:
        """The number of times that each name is on the screen."""
        return Counter(t.element.name for t in self.things)


def _is_stacked(first: BoundingBox, second: BoundingBox) -> bool:
    """Whether two items are one above the other, which those of a menu bar are not."""
    return (
        abs(first.left - second.left) <= 2 and 0 < abs(first.top - second.top) <= 2 * first.height
    )


def _in_menu(element: Element) -> bool:
    return "menu" in element.role or element.role in ("separator", "panel", READ)


def _clean(element: Element) -> Element:
    """Returns an element without characters for embedded objects, and without markup."""
    name, text = element.name.translate(_HIDDEN), element.text.translate(_HIDDEN)
    last = _LAST_WORD.search(name) if element.role in FIELDS else None
    if last and last[1].casefold() in {"required", *element.states}:  # also listed as a state
        name = name[: last.start()]
    if _MARKUP.search(element.description):  # Qt lists tooltips with their markup
        plain = " ".join(_MARKUP.sub(" ", element.description).split())
        element = replace(element, description=plain)
    if element.role == "toggle button" and not name and _is_wide(element.box):
        # GTK 3 lists a drop-down list as the button that opens it.
        return replace(element, role="combo box", name=name, text=text)
    if name == element.name and text == element.text:
        return element
    return replace(element, name=name, text=text)


def _field_of_page(element: Element, pages: Sequence[BoundingBox]) -> Element:
    """Returns an editable part of a page as a field; the page may list it as mere text."""
    written = (
        element.role in ("section", "paragraph") and {"editable", "focusable"} <= element.states
    )
    if written and any(page.contains(element.box.centre) for page in pages):
        return replace(element, role="text")
    return element


def _with_paragraphs(element: Element, written: Sequence[Element]) -> Element:
    """Returns a cell of a document's table with the text of its paragraphs; it has none itself."""
    if element.role != "table cell" or element.text:
        return element
    inside = [e.text for e in written if overlap(element.box, e.box) > _INSIDE]
    return replace(element, text=" ".join(inside)) if inside else element


def _cell_of_page(element: Element, held: Sequence[Element]) -> Element:
    """Returns a part of a page named as a cell, such as a notebook's, with the text in it."""
    called = element.role in ("section", "landmark") and "focusable" in element.states
    named = _CELL.match(element.name) if called else None
    if named is None:
        return element
    inside = [e.text for e in held if overlap(element.box, e.box) > _INSIDE]
    name = named["kind"].strip() or element.name
    return replace(element, role="cell", name=name, text="\n".join(inside))


def _with_title(element: Element, titled: Sequence[Element]) -> Element:
    """Returns a nameless button of a page with the tooltip of the part tightly around it."""
    if element.role not in ("push button", "toggle button") or element.name or element.description:
        return element
    around = [
        e
        for e in titled
        if e.box.contains(element.box.centre) and e.box.area <= 2.5 * element.box.area
    ]
    return replace(element, name=_tip(min(around, key=_area))) if around else element


def _tip(element: Element) -> str:
    return element.name or element.description


def _area(element: Element) -> float:
    return element.box.area


def _is_wide(box: BoundingBox) -> bool:
    return box.width > 2.2 * box.height


def _has_content(element: Element) -> bool:
    return bool(_words(element) or element.description or "focusable" in element.states)


def _words(element: Element) -> str:
    return " ".join((element.name or element.text).split())


def _may_label(element: Element) -> bool:
    """Whether an element may be a label of others; a line in a page's editor may not."""
    if "editable" in element.states and element.role in ("static", "section", "paragraph"):
        return False
    labelling = element.role in SHOWS_TEXT or element.role in ("check box", "table cell", "link")
    return labelling and 0 < len(_words(element)) <= _LONG


def _find_labels(
    element: Element,
    box: BoundingBox,
    texts: Iterable[tuple[str, BoundingBox]],
    named: Iterable[tuple[str, BoundingBox]],
) -> tuple[tuple[str, float], ...]:
    """Returns the nearest text on each side, and the name of a small panel around a control.

    Each has its trust, 0 to 1.
    """
    toggle = element.role == "toggle button"
    ticks = element.role in ("check box", "radio button", "toggle switch", "switch")
    if (ticks or toggle) and element.name.strip():
        return ()
    best: dict[str, tuple[float, str]] = {}
    for text, at in texts:
        if (side := _side(box, at)) and side[1] < best.get(side[0], (1e9, ""))[0]:
            best[side[0]] = (side[1], text)
    trust = {"left": 0.95, "above": 0.93, "right": 0.8}
    if ticks:
        trust = {"right": 0.95, "left": 0.8}
    labels = [(text, trust[side]) for side, (_, text) in best.items() if side in trust]
    holders = [
        (around.area, name)
        for name, around in named
        if around.contains(box.centre) and box.area < around.area <= 6 * box.area
    ]
    if holders:
        labels.append((min(holders)[1], 1.0))
    return tuple(labels)


def _label_by_header(
    box: BoundingBox, heads: Iterable[tuple[str, BoundingBox]]
) -> tuple[tuple[str, float], ...]:
    """Returns the header of a control's column, with its trust."""
    over = [n for n, at in heads if at.left <= box.centre.x < at.right and at.bottom <= box.top + 4]
    return ((over[-1], 0.8),) if over else ()


def _side(box: BoundingBox, text: BoundingBox) -> tuple[str, float] | None:
    """Returns the side of a box on which a text is, and its distance; None if too far."""
    if text.top > box.bottom + 4 or text.bottom < box.top - _ATOP:
        return None
    across, down = gaps(box, text)
    if down < -0.3 * min(box.height, text.height) and -8 <= across <= _BESIDE:
        return ("left" if text.left < box.left else "right"), across
    if (text.top + text.bottom) / 2 < box.top + 4 and -8 <= down <= _ATOP:
        slant = abs(text.left - box.left)
        if slant <= 40 or (text.left >= box.left and text.right <= box.right):
            return "above", down + min(slant, 40) * 0.3
    return None


def _drawn_on(read: Element, things: Iterable[Thing]) -> Thing:
    """Returns a read line as a thing: the button on which it is, if that has another name.

    A page's file input has its label as its name, and shows "Choose File".
    """
    around = [t for t in things if "button" in t.role and overlap(t.box, read.box) > _INSIDE]
    buttons = [
        t
        for t in around
        if t.element.name and similarity(t.element.name, read.name) < _MIN_LIKENESS
    ]
    button = min(buttons, key=lambda thing: thing.box.area, default=None)
    if button is None:
        return Thing(read, read.box)
    shown = replace(button.element, name=read.name, text="")
    return replace(button, element=shown, box=read.box, number=None, control=button.element)


def _is_in_tree(read: Element, things: Iterable[Thing]) -> bool:
    """Whether accessibility lists the same words at the same place."""
    plain = read.name.casefold()
    return any(
        plain == t.element.name.casefold() and overlap(t.box, read.box) > 0.5 for t in things
    )
