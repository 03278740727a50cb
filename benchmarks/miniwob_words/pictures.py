"""Scripts of pages with icons, shapes and things to drag; see `pages`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.miniwob_words.script import (
    BUTTON,
    FIELD,
    Calls,
    Seen,
    Truth,
    click,
    drag,
    named,
    nth,
    page,
    scroll,
    submit,
    typed,
)
from hisa.screen.observation import Element


def _mail(see: Seen) -> Calls:
    name = see.word(r"(?:email|Email) by (\w+)")
    for _ in range(4):
        if see.shows(name):
            break
        yield scroll(-3, "list of emails below the red 'Primary' header", "the email list")
    if "trash" in see.task:
        yield click(
            f"trash can icon in the row of the email from '{name}'",
            f"grey delete icon to the right of '{name}', next to the star",
            at=_icon(name, -1),
        )
    elif "star" in see.task:
        yield click(
            f"star icon in the email row of '{name}', left of the trash icon",
            f"star to the right of '{name}'",
            at=_icon(name, 0),
        )
    else:
        yield click(
            f"email from '{name}' in the inbox list", f"row of the sender '{name}'", at=named(name)
        )
        yield from (_reply(see) if "reply" in see.task else _forward(see))


def _icon(sender: str, index: int) -> Truth:
    """The icon at that index among the two in the row of a sender's mail."""

    def find(elements: Sequence[Element]) -> list[Element]:
        rows = [e.box.centre.y for e in named(sender)(elements)]
        icons = [e for e in elements if e.role == "image" and rows]
        beside = [e for e in icons if abs(e.box.centre.y - rows[0]) < _ROW and e.box.left > 150]
        return sorted(beside, key=lambda e: e.box.left)[index:][:1]

    return find


_ROW = 30
"""Pixels between the middles of a sender's name and of the icons in its row, at most."""


def _reply(see: Seen) -> Calls:
    yield click("'Reply' button with the arrow icon at the bottom of the email", at=named("Reply"))
    yield typed(
        "empty message body area below the subject line",
        "large text area of the reply",
        text=see.quoted[0],
    )
    yield click("send icon (paper plane) at the top right of the reply form", "paper plane icon")


def _forward(see: Seen) -> Calls:
    yield click(
        "'Forward' arrow icon with its label at the bottom right of the email", at=named("Forward")
    )
    yield typed(
        "'to:' text field at the top of the forward form",
        "field right of 'to:'",
        text=see.word(r" to (\w+)\.$"),
    )
    yield click("send (paper plane) icon in the top right corner", "paper plane icon")


for _name in ("delete", "important", "reply", "forward"):
    page(f"email-inbox-{_name}")(_mail)


@page("find-greatest")
def _find_greatest(see: Seen) -> Calls:
    cards = ("leftmost", "middle", "rightmost")
    found: list[int] = []
    for place in cards:
        yield click(f"{place} red and white striped card", f"{place} of the three cards")
        found.append(int(see.find(r"^(\d+)$")))
    best = found.index(max(found))
    if best != 2:
        yield click(
            f"{cards[best]} red and white striped card (face down)",
            f"{cards[best]} of the three cards",
        )
    yield submit("'Submit' button below the cards")


@page("grid-coordinate")
def _grid_coordinate(see: Seen) -> Calls:
    x, y = re.search(r"\((-?\d),(-?\d)\)", see.task).groups()  # type: ignore[union-attr]
    yield click(f"blue dot at the grid coordinate ({x}, {y}), column x={x}, row y={y}")


@page("click-widget")
def _click_widget(see: Seen) -> Calls:
    kind = see.quoted[0]
    if kind in ("radio", "checkbox"):
        role = "radio button" if kind == "radio" else "check box"
        name = next(e.name or e.label for e in see.on_page(role))
        yield click(
            f"{role.replace(' b', ' b')} to the left of '{name}'", f"any {role}", at=nth(0, role)
        )
    elif kind == "button":
        name = see.texts(BUTTON)[0]
        yield click(f"button labeled '{name}'", at=named(name, BUTTON))
    else:
        fields = see.on_page(*FIELD)
        big = "multi line" if kind == "textarea" else "single line"
        one = next((e for e in fields if big in {s.replace("-", " ") for s in e.states}), fields[0])
        shown = one.text or one.name
        words = (
            f"multi-line text area showing '{shown}'"
            if kind == "textarea"
            else f"single-line text box showing '{shown}'"
        )
        yield click(words, f"text field with the text '{shown}'", at=named(shown, *FIELD))


@page("drag-box")
def _drag_box(see: Seen) -> Calls:
    yield drag(
        "the small red box marked 's'",
        "the large blue box marked 'L', its centre",
        at=named("s"),
        end=named("L"),
    )
    yield submit("'Submit' button")
