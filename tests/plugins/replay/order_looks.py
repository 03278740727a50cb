"""Looks at lists of orders, made up: rows with equal buttons, with and without holders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PIL import Image, ImageDraw

from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window

SIZE = Size(1280, 720)
SHOWN = frozenset({"enabled", "sensitive", "showing", "visible"})
Row = tuple[str, ...]
ANN, BO, CY = ("1021", "Ann Berg", "open"), ("1022", "Bo Lind", "open"), ("1023", "Cy Ray", "open")


def thing(
    role: str,
    name: str,
    at: tuple[float, float, float, float],
    parent: int | None = -1,
    *states: str,
    app: str = "shop",
    label: str = "",
    window: str = "Orders",
) -> Element:
    """An element at left, top, width, height."""
    left, top, width, height = at
    box = BoundingBox(left, top, left + width, top + height, "screen")
    return Element(
        role,
        name,
        box,
        states=SHOWN | set(states),
        parent=parent,
        app=app,
        label=label,
        window=window,
    )


def orders(rows: Sequence[Row], *, button: str = "Ship", kind: str = "table row") -> list[Element]:
    """A list whose rows hold texts and a button; kind "" leaves the holders out of it.

    With "cell" each text and button has a holder of its own, and the rows have none.
    """
    elements = [thing("table" if kind == "table row" else "section", "", (0, 40, 1000, 640))]
    for number, row in enumerate(rows):
        top, parent = 50 + 40 * number, 0
        if kind not in ("", "cell"):
            parent = len(elements)
            elements.append(thing(kind, "", (0, top, 900, 36), 0))
        for column, text in enumerate(row):
            elements += _build_cell(
                kind, "static", text, (10 + 150 * column, top + 8, 120, 20), parent, len(elements)
            )
        elements += _build_cell(
            kind, "push button", button, (700, top + 4, 80, 26), parent, len(elements)
        )
    return elements


def _build_cell(
    kind: str, role: str, name: str, at: tuple[float, float, float, float], parent: int, number: int
) -> list[Element]:
    if kind != "cell":
        return [thing(role, name, at, parent)]
    return [thing("section", "", at, parent), thing(role, name, at, number)]


def cards(rows: Sequence[Row]) -> list[Element]:
    """Cards one below the other, each with its texts above a foot that has the button alone."""
    elements = [thing("section", "", (0, 0, 1000, 720))]
    for number, row in enumerate(rows):
        top, card = 10 + 110 * number, len(elements)
        elements.append(thing("section", "", (0, top, 900, 100), 0))
        for line, text in enumerate(row):
            elements.append(thing("static", text, (10, top + 5 + 20 * line, 200, 18), card))
        elements.append(thing("section", "", (0, top + 70, 900, 30), card))
        foot = len(elements) - 1
        elements.append(thing("push button", "Ship", (800, top + 72, 80, 26), foot))
    return elements


def look(elements: Iterable[Element], *, drawn: Iterable[BoundingBox] = ()) -> Observation:
    """A look at elements; a pattern is drawn into boxes."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    pen = ImageDraw.Draw(image)
    for box in drawn:
        pen.ellipse((box.left + 2, box.top + 2, box.right - 3, box.bottom - 3), fill="navy")
        pen.line((box.left, box.top, box.right, box.bottom), fill="red", width=3)
    window = Window("1", "Orders", "shop", active=True)
    return Observation(Screenshot(image), SIZE, (window,), elements=tuple(elements))


def button_of(observation: Observation, row: Row, name: str = "Ship") -> Element:
    """The button at the height, or in the card, of a row's own first text."""
    elements = observation.elements or ()
    at = next(n for n, element in enumerate(elements) if element.name == row[0])
    return next(e for e in elements[at:] if e.role == "push button" and e.name == name)
