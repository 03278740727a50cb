"""Looks of policies from observations of a desktop, and as the JSON of a prompt.

Policies are trained on the elements of a document. The accessibility tree is brought to its terms:
text is the name of what holds it alone, what only holds others is left out, and so is the
instruction where the page shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter

from hisa.plugins.training.episodes import Item, Look
from hisa.plugins.training.pointer_features import instruction_words
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation

__all__ = ["LOOK", "look_of"]

LOOK = TypeAdapter(Look)
"""Writes a look as the JSON of a prompt, and reads it."""
_MAX_NAME = 80
"""Characters of a name or value, as pages give them."""
_CONTROLS = {"push button", "check box", "radio button", "combo box", "slider", "toggle button"}
"""Roles that count although they hold others."""
_HOLDERS = {"frame", "panel", "document web", "document frame", "scroll pane", "page tab list"}
"""Roles that do not count although they may hold nothing."""


def look_of(observation: Observation, instruction: str) -> tuple[Look, BoundingBox]:
    """Returns what a policy sees of an observation, and the screen-space box that its boxes share.

    That is what holds the instruction where a page shows it, else the page, else the screen.
    """
    elements, size = observation.elements or (), observation.screen
    query = _query(elements, instruction)
    area = next(
        (element.box for element in elements if element.role == "document web"),
        BoundingBox(0, 0, size.width, size.height, "screen"),
    )
    parent = elements[query].parent if query >= 0 else None
    if parent is not None and parent >= 0:
        area = elements[parent].box
    items = (_item(element, role, name, area) for element, role, name in _chosen(elements, query))
    return Look(instruction, tuple(filter(_inside, items))), area


def _query(elements: Sequence[Element], instruction: str) -> int:
    """The place of the element that shows the instruction; -1: there is none."""
    words = instruction_words(instruction)
    shown = (i for i, e in enumerate(elements) if words and instruction_words(e.text) == words)
    return next(shown, -1)


def _chosen(elements: Sequence[Element], query: int) -> Iterator[tuple[Element, str, str]]:
    """Elements that count, each with its role and name in the document's terms."""
    children = Counter(element.parent for element in elements)
    texts = {e.parent: e.name for e in elements if e.role == "static" and children[e.parent] == 1}
    hidden = {query} - {-1}  # what no element holds has -1 as its parent
    beside = elements[query].parent if query >= 0 else None
    for place, element in enumerate(elements):
        role, parent = element.role, element.parent
        above = elements[parent].parent if parent is not None and parent >= 0 else None
        if place in hidden or parent in hidden:
            hidden.add(place)
        elif place in texts:
            yield element, "static" if role == "section" else role, texts[place]
        elif role == "static":  # the text around a page's elements is no element
            if element.name and parent not in texts and (beside is None or above != beside):
                yield element, role, element.name
        elif role in _CONTROLS or (not children[place] and role not in _HOLDERS):
            text = role == "entry" and "multi-line" in element.states
            yield element, "text" if text else role, element.name or element.label


def _item(element: Element, role: str, name: str, area: BoundingBox) -> Item:
    box, wide, high = element.box, area.width or 1, area.height or 1
    left, top = (box.left - area.left) / wide, (box.top - area.top) / high
    shares = (left, top, box.width / wide, box.height / high)
    editable = "editable" in element.states and role in ("entry", "password text", "text")
    return Item(
        role,
        " ".join(name.split())[:_MAX_NAME],
        shares,
        value=element.text[:_MAX_NAME] if editable or role == "combo box" else "",
        checked=not element.states.isdisjoint(("checked", "selected")),
        focused="focused" in element.states,
        takes_text=editable,
    )


def _inside(item: Item) -> bool:
    left, top, width, height = item.box
    return 0 <= left + width / 2 < 1 and 0 <= top + height / 2 < 1 and width > 0 < height
