"""What is on the screen to choose from: elements, their parts, and text read off the picture."""

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
"""Signs that stand for what is embedded, and blanks."""
_MARKUP = re.compile(r"</?[a-z][a-z0-9]*(?: [^<>]*)?/?>", re.I)
_LAST_WORD = re.compile(r"(?<=\w)[\s,;:(*]+(\w+)\W*$")
_LABELLED = (
    FIELDS
    | {"toggle button"}
    | {"slider", "check box", "radio button", "toggle switch", "switch", "list box"}
)
_BESIDE = 640
"""Pixels of the screen between a label and what it labels, at most; chosen by hand."""
_BESIDE_READ = 240
"""The same of a line read off the picture, which may be of a menu that nobody tells. As many are
right and wrong on the training screens as with 640."""
_ATOP = 45
"""The same where the label stands above."""
_CELL = re.compile(r"(?P<kind>.*?)\bcell\b", re.I)
"""A name that says what it is of: "Code Cell Content" is a cell called "Code"."""
_LONG = 60
"""Characters; a longer text labels nothing."""

_CARET = 4
"""Pixels of the screen; a field that is no wider is not what a person sees of it,"""
_FIELD_HIGH = 80
"""and what is seen of it is no higher than this."""
_HOLDERS = frozenset({"section", "panel", "grouping", "combo box"})
_PAGE_SHARE = 0.8
"""Share of the screen from which a dialog is the page itself."""
_MIN_LIKENESS = 0.8
"""As of words amid a line; what is read of a name with a letter wrong is more like it."""
_INSIDE = 0.8
"""The share of a paragraph that lies in the cell that it is written in."""


class Scene:
    """The things of an observation that can be seen, ready to be scored.

    Args:
        observation: the look.
        read: lines read off the picture as elements in screen space.
        parts: whether arrows of fields are things of their own.
        shapes: whether what is only drawn is looked for; takes some 0.1 s for a new picture.
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
        # Collectors differ in the states they report: one that no element reports excludes none.
        reported = {state for element in elements for state in element.states}
        self._reports_showing = bool(reported & {"showing", "visible"})
        self._reports_enabled = bool(reported & {"enabled", "sensitive"})
        modal = [e for e in elements if "modal" in e.states and e.window]
        # LibreOffice calls itself otherwise than X does; then the title says what is in front.
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
        """The box of an element; of a field as narrow as its caret, that of what holds it.

        Pages that draw drop-downs of their own keep such a field for what is typed.
        """
        if element.role not in FIELDS | {"combo box"} or box.width > _CARET:
            return box
        boxes = (e.box for e in filter(self._shown, self._elements) if e.role in _HOLDERS)
        holders = (b for b in boxes if b.contains(box.centre) and b.height <= _FIELD_HIGH)
        return min((b for b in holders if b.width > _CARET), key=lambda b: b.area, default=box)

    def convert_framed(self, thing: Thing) -> Thing:
        """An empty part of a page as a picture, where the picture shows a frame around it."""
        observation, box = self.observation, thing.box
        if not is_outlined(box, observation):
            return thing
        colour = colour_of(
            observation.screenshot, observation.convert_box(box, "image")
        ).removeprefix("white")
        picture = replace(thing.element, role="image", description=f"{colour} empty box".strip())
        return replace(thing, element=picture, drawn=1.0)

    def _cover(self, element: Element) -> Covering | None:
        """Returns the element that lies over another and leaves no part of it bare."""
        cover = self._coverings.get(id(element))
        return None if cover is None or cover.rest else cover

    def _front(self, element: Element, box: BoundingBox) -> float:
        """Enabled, in the active window, not behind it."""
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
        """The titles of windows that are kept above the active one, such as palettes."""
        windows = self.observation.windows
        place = next((row for row, window in enumerate(windows) if window.active), len(windows))
        return frozenset(window.title for window in windows[place + 1 :])

    @lazy_property
    def _reports_active(self) -> bool:
        """Whether accessibility tells of the active window by the title that X knows."""
        active = self.observation.active
        return active is not None and any(e.window == active.title for e in self._elements)

    @lazy_property
    def _popup(self) -> tuple[BoundingBox, frozenset[int]] | None:
        """The window in front that has no title, and what came before it in the tree."""
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
        """Returns the covers of elements in their own page or window, as far as the tree tells."""
        observation = replace(self.observation, elements=self._elements)
        return {
            id(self._elements[n]): over for n, over in find_covers(observation, self._cut).items()
        }

    @lazy_property
    def _empty(self) -> frozenset[int]:
        """The numbers of parts of pages that hold nothing and say nothing, where that is told."""
        holders = {element.parent for element in self._elements}
        numbered = enumerate(self._elements)
        empty = (n for n, e in numbered if e.role == "section" and n not in holders)
        has_parents = None not in holders
        return frozenset(n for n in empty if has_parents and not _has_content(self._elements[n]))

    @lazy_property
    def _parts_shown(self) -> list[BoundingBox]:
        """The part of each element that shows, the whole of what nothing lies over."""
        over = (self._coverings.get(id(element)) for element in self._elements)
        pairs = zip(over, self._cut, strict=True)
        return [cover.rest if cover and cover.rest else box for cover, box in pairs]

    @lazy_property
    def _menus(self) -> list[BoundingBox]:
        """The entries of menus that are open."""
        return [e.box for e in self._elements if "menu item" in e.role and self._shown(e)]

    @lazy_property
    def open_overlays(self) -> list[tuple[str, BoundingBox]]:
        """Dialogs, calendars and entries of menus that opened in a window, over the rest of it.

        A window of its own is none of them: `Thing.front` tells what lies behind it.
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
        """A control whose text accessibility does not tell shows what is read inside it."""
        silent = not (element.name or element.text) and element.role not in CONTAINERS
        # A page tells what its fields hold: what is read in an empty one is drawn over it.
        silent &= not {"editable", "multi-line"} <= element.states
        if not silent or not self._read or box.height > 60:
            return element
        inside = [e.name for e in self._read if overlap(box, e.box) > 0.8]
        return replace(element, text=max(inside, key=len)) if inside else element

    @lazy_property
    def word_boxes(self) -> list[tuple[BoundingBox, frozenset[str]]]:
        """The words of everything that is called something short, and where."""
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
        """Left, top, right and bottom of what has words, for all at once: there may be many."""
        return sides(box for box, _ in self.word_boxes)

    @lazy_property
    def frequency(self) -> Counter[str]:
        """The number of things that each word names."""
        return Counter(word for _, words in self.word_boxes for word in words)

    def around(self, thing: Thing) -> frozenset[str]:
        """The words on the line of a thing, and those of what holds it."""
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
        """Texts that are words of a sentence: others go on right beside them."""
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
        """The control in a cell or header that carries the same name; else the thing itself."""
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
        """The number of times that each name stands on the screen."""
        return Counter(t.element.name for t in self.things)


def _is_stacked(first: BoundingBox, second: BoundingBox) -> bool:
    """Whether two entries stand one above the other: those of a menu bar do not."""
    return (
        abs(first.left - second.left) <= 2 and 0 < abs(first.top - second.top) <= 2 * first.height
    )


def _in_menu(element: Element) -> bool:
    return "menu" in element.role or element.role in ("separator", "panel", READ)


def _clean(element: Element) -> Element:
    """Without signs that stand for what is embedded, and without markup."""
    name, text = element.name.translate(_HIDDEN), element.text.translate(_HIDDEN)
    last = _LAST_WORD.search(name) if element.role in FIELDS else None
    if last and last[1].casefold() in {"required", *element.states}:  # told as a state as well
        name = name[: last.start()]
    if _MARKUP.search(element.description):  # Qt tells tool tips as they are written
        plain = " ".join(_MARKUP.sub(" ", element.description).split())
        element = replace(element, description=plain)
    if element.role == "toggle button" and not name and _is_wide(element.box):
        # A list that opens is told as the button that opens it, by GTK 3.
        return replace(element, role="combo box", name=name, text=text)
    if name == element.name and text == element.text:
        return element
    return replace(element, name=name, text=text)


def _field_of_page(element: Element, pages: Sequence[BoundingBox]) -> Element:
    """The element as a field, where a page lets it be written in: it may be told as mere text."""
    written = (
        element.role in ("section", "paragraph") and {"editable", "focusable"} <= element.states
    )
    if written and any(page.contains(element.box.centre) for page in pages):
        return replace(element, role="text")
    return element


def _with_paragraphs(element: Element, written: Sequence[Element]) -> Element:
    """A cell of a document's table with the text of the paragraphs in it; it tells none itself."""
    if element.role != "table cell" or element.text:
        return element
    inside = [e.text for e in written if overlap(element.box, e.box) > _INSIDE]
    return replace(element, text=" ".join(inside)) if inside else element


def _cell_of_page(element: Element, held: Sequence[Element]) -> Element:
    """A part of a page that calls itself a cell, as a notebook's, with what is written in it."""
    called = element.role in ("section", "landmark") and "focusable" in element.states
    named = _CELL.match(element.name) if called else None
    if named is None:
        return element
    inside = [e.text for e in held if overlap(element.box, e.box) > _INSIDE]
    name = named["kind"].strip() or element.name
    return replace(element, role="cell", name=name, text="\n".join(inside))


def _with_title(element: Element, titled: Sequence[Element]) -> Element:
    """A button of a page without a name, by the tip of what is drawn around it alone."""
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
    """Whether it may name what is beside it; a line in a page's editor names nothing."""
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
    """The nearest text on each side, and the name of a small panel around it."""
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
    """The header of the column that a control stands in."""
    over = [n for n, at in heads if at.left <= box.centre.x < at.right and at.bottom <= box.top + 4]
    return ((over[-1], 0.8),) if over else ()


def _side(box: BoundingBox, text: BoundingBox) -> tuple[str, float] | None:
    """The side of a box on which a text stands, and its distance."""
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
    """A line as a thing: the button on which it is drawn where that is called otherwise.

    A page's file input is called by its label, and shows "Choose File".
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
    """Whether accessibility tells of the same words in the same place."""
    plain = read.name.casefold()
    return any(
        plain == t.element.name.casefold() and overlap(t.box, read.box) > 0.5 for t in things
    )
