"""Lines that a model picks from: each thing in words, with visible details such as its colour."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from hisa.grounder.row_names import row_names
from hisa.grounder.thing import READ, Thing, lines
from hisa.grounder.thing_lines import describe_thing, fit_in_quotes, is_only_text, name_of
from hisa.plugins.matching.rating import RatedThing
from hisa.screen.colours import colour_of
from hisa.screen.observation import Observation
from hisa.text.words import tokens

__all__ = ["build_choice_lines", "is_nameless", "is_scrap"]

_SMALL = 64
"""Image pixels; a thing larger than this either way is recognised by its content."""
_FRAME = re.compile(r"\b(?:window|tab|browser|title ?bar|corner|cross|x)\b|[×✕✖]", re.I)
"""Words for the frame of a page or a window."""
_LETTERS = 3
"""Least letters and digits of a word; a shorter text that was read may be a picture."""


def build_choice_lines(
    listed: Sequence[RatedThing], every: Sequence[RatedThing], observation: Observation
) -> list[str]:
    """Returns the line that the model reads about each thing.

    Args:
        listed: the things to pick from.
        every: all things on the screen, among which rows and columns are counted.
        observation: the look; its picture has the colours.
    """
    places = _grid_places(every) if any(map(is_nameless, listed)) else {}
    row_texts = row_names([rated.thing for rated in every], observation, describe_thing)
    rows = []
    for rated in listed:
        place = places.get(id(rated.thing)) or row_texts.get(rated.thing, "")
        details = (_tip(rated.thing), _colour(rated, observation), place)
        more = f" [{', '.join(filter(None, details))}]" if any(details) else ""
        rows.append(
            "{}{} at ({}, {})".format(
                describe_thing(rated.thing), more, *rated.box.centre.to_pixels()
            )
        )
    return rows


def is_nameless(rated: RatedThing) -> bool:
    """Whether a thing has no words of its own; a drawn one has only a description of its looks."""
    e = rated.thing.element
    words = e.name or e.text or e.label or (e.description if rated.thing.drawn is None else "")
    return not words.strip()


def is_scrap(rated: RatedThing, description: str, observation: Observation) -> bool:
    """Whether a thing is a stray letter, or part of a frame, and the description does not name it.

    Args:
        rated: the thing.
        description: of the target.
        observation: the look.
    """
    e = rated.thing.element
    if tokens(f"{e.name} {e.description} {e.text}") & tokens(description):
        return False
    if rated.thing.role == READ:
        return sum(map(str.isalnum, e.name)) < _LETTERS
    if _FRAME.search(description):
        return False
    if rated.thing.drawn is not None:
        return e.description.endswith("in the title bar")
    web = (p for p in observation.elements or () if p.role == "document web")
    pages = [p.box for p in web if p.window == e.window]
    return bool(pages) and all(rated.thing.box.bottom <= page.top for page in pages)


def _tip(thing: Thing) -> str:
    """Returns the tooltip if it adds words to the name; for a drawn thing, words of its looks."""
    tip = thing.element.description
    if not name_of(thing) or not tokens(tip) - tokens(name_of(thing)):
        return ""
    return fit_in_quotes(tip) if thing.drawn is not None else f'tooltip "{fit_in_quotes(tip)}"'


def _colour(rated: RatedThing, observation: Observation) -> str:
    """Returns the colour of a small thing without words; empty for white and other things."""
    box, thing = rated.box, rated.thing
    plain = thing.drawn is not None or not is_nameless(rated)
    plain |= is_only_text(thing) and not thing.is_made_control
    if plain or max(box.width, box.height) > _SMALL:
        return ""  # a drawn thing has its colour in its name
    return colour_of(observation.without_pointer.screenshot, box).removeprefix("white")


def _grid_places(every: Sequence[RatedThing]) -> dict[int, str]:
    """Returns each nameless thing's row and column among those of its role and size, by its id."""
    places: dict[int, str] = {}
    nameless = [rated.thing for rated in every if is_nameless(rated)]
    for _, group in groupby(sorted(nameless, key=_likeness), key=_likeness):
        rows = lines(group)
        columns = sorted({round(t.box.centre.x / 4) for row in rows for t in row})
        columns = [x for n, x in enumerate(columns) if not n or x - columns[n - 1] > 1]
        if len(rows) < 2 or len(columns) < 2:
            continue
        for number, thing in ((n, t) for n, row in enumerate(rows, 1) for t in row):
            column = sum(x <= round(thing.box.centre.x / 4) for x in columns)
            places[id(thing)] = f"row {number} column {column}"
    return places


def _likeness(thing: Thing) -> tuple[str, int, int]:
    return thing.role, round(thing.box.width / 4), round(thing.box.height / 4)
