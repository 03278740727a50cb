"""Selects the elements of a numbered list, orders them, and describes each in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from hisa.grounder.spots import spot
from hisa.grounder.thing import ARROW_WORDS, SHOWS_TEXT, UNCHECKED, Thing, overlap
from hisa.protocols import Place, Task
from hisa.screen.bubbles import in_front
from hisa.screen.observation import Observation
from hisa.screen.roles import CONTAINERS, FIELDS, LAYOUT, PASSWORD
from hisa.text.prompt_text import excerpt
from hisa.text.words import tokens

__all__ = [
    "TEXT_CHARS",
    "TICKS",
    "describe_thing",
    "fit_in_quotes",
    "in_windows",
    "is_only_text",
    "kind_of",
    "name_of",
    "near_of",
    "place_of",
    "plain",
    "rank_things",
    "select_useful",
    "states_of",
    "value_of",
    "words_of",
]

NAME_CHARS = 60
"""Most characters of a name or a value in a list; chosen by hand."""
TEXT_CHARS = 200
"""Most characters of an element that is only read."""
_IN_FRONT = 0.7
"""How usable an element must be to be listed: those behind another window are not."""
_HOLDERS = (CONTAINERS | LAYOUT | {"scroll bar", "landmark", "article"}) - {"section"}
"""Roles of elements that only contain, arrange or scroll others."""
TICKS = frozenset(
    {"check box", "radio button", "toggle switch", "switch", "check menu item", "radio menu item"}
)
_AREAS = frozenset({"canvas", "drawing area"})
"""Roles of areas that an application paints itself, without reporting their parts."""
_NAMELESS = FIELDS | TICKS | {"push button", "button", "toggle button", "slider"}
"""Roles that are listed even without any words."""
_KINDS = {
    **dict.fromkeys(("push button", "push button menu"), "button"),
    **dict.fromkeys(("text", "entry", "search box", "text box", "editbar"), "field"),
    **dict.fromkeys(SHOWS_TEXT - {"heading"}, "text"),
    "arrow part": "arrow",
    "page tab": "tab",
    "table cell": "cell",
    "toggle button": "toggle",
    "toggle switch": "switch",
}
"""Shorter and plainer words for roles."""
_ADDRESS = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")
"""How spreadsheets name their cells."""
_DOES = frozenset(word for words in ARROW_WORDS.values() for word in words)
_STATES = ("focused", "selected", "pressed", "expanded")
"""States that are listed under their own names."""


def select_useful(things: Sequence[Thing]) -> list[Thing]:
    """Returns the elements that a planner can use or read, in screen order, without doubles."""
    useful = _drop_doubles([t for t in things if t.front >= _IN_FRONT and _is_useful(t)])
    # The parts of an element follow it in the tree.
    useful = [t for at, t in enumerate(useful) if not _holds_only(t, islice(useful, at + 1, None))]
    long = [t for t in useful if t.role in SHOWS_TEXT and len(words_of(t).split()) > 1]
    links = {
        t: replace(t.element, role="link", name=value_of(t)) for t in useful if _links(t, long)
    }
    return [replace(t, element=links[t]) if t in links else t for t in useful]


def _links(thing: Thing, long: Iterable[Thing]) -> bool:
    """Whether an element is a part of a sentence that takes clicks, as a link does.

    A browser reports such a part separately only if the page listens to it; otherwise its text
    belongs to the sentence.
    """
    return thing.role == "section" and any(
        thing.box.height < text.box.height and overlap(text.box, thing.box) > 0.8
        for text in long
        if text is not thing and text.role == "section"
    )


def _is_useful(thing: Thing) -> bool:
    """Whether it has words or can be used; false for elements that only hold or move others."""
    if thing.role in _AREAS or (thing.role == "list box" and "focusable" in thing.element.states):
        return True
    if thing.role in _HOLDERS or thing.role.startswith("document "):
        return False
    if thing.role in SHOWS_TEXT:
        return thing.is_made_control or bool(words_of(thing))
    return thing.role in _NAMELESS or not thing.is_bare


def _drop_doubles(things: Sequence[Thing]) -> list[Thing]:
    """Returns the elements without repeated texts and without wrappers of an equal element."""
    by_words: dict[str, list[Thing]] = {}
    for thing in things:
        by_words.setdefault(words_of(thing), []).append(thing)
    by_words.pop("", None)
    long = [t for t in things if t.role in SHOWS_TEXT and len(words_of(t).split()) > 1]

    def is_redundant(thing: Thing) -> bool:
        words = words_of(thing)
        return any(_is_double(thing, other) for other in by_words.get(words, ())) or (
            thing.role in SHOWS_TEXT and any(_is_part(thing, words, other) for other in long)
        )

    return [thing for thing in things if not is_redundant(thing)]


def _is_double(thing: Thing, other: Thing) -> bool:
    """Whether another element with the same words replaces this one, its label or wrapper."""
    if thing is other:
        return False
    texts = thing.role in SHOWS_TEXT, other.role in SHOWS_TEXT
    if texts == (True, False):
        return other.element.label.strip() == name_of(thing) or overlap(other.box, thing.box) > 0.5
    if {thing.role, other.role} == {"link", "page tab"} and overlap(thing.box, other.box) > 0.5:
        return thing.role == "link"
    if texts == (True, True) and thing.box == other.box:
        return thing.role == "static" and other.role != "static"
    around = overlap(thing.box, other.box) > 0.8 and thing.box.area > other.box.area
    return around and texts != (False, True)


def _is_part(thing: Thing, words: str, other: Thing) -> bool:
    """Whether a text is part of a longer one that the list shows in full."""
    full_text = words_of(other)
    longer = len(words) < len(full_text) <= TEXT_CHARS
    return longer and words in full_text and overlap(other.box, thing.box) > 0.8


def words_of(thing: Thing) -> str:
    """Returns the name of an element, or else its value, in lower case."""
    return plain(name_of(thing) or value_of(thing))


def plain(text: str) -> str:
    """Returns a text in lower case, with one blank between words."""
    return " ".join(text.casefold().split())


def _holds_only(thing: Thing, following: Iterable[Thing]) -> bool:
    """Whether a cell or an entry has no words but those of the elements inside it."""
    if thing.role not in ("table cell", "list item", "tree item"):
        return False
    inside = takewhile(lambda t: overlap(thing.box, t.box) > 0.8, following)
    words_inside = {word for t in inside for word in words_of(t).split()}
    return bool(words_inside) and words_inside >= set(words_of(thing).split())


def name_of(thing: Thing) -> str:
    """Returns the name of an element; empty if it has none."""
    e = thing.element
    return (e.name or e.label or e.description).strip()


def near_of(thing: Thing) -> str:
    """Returns the text beside an element that most likely labels it; empty if there is none."""
    return max(thing.labels, key=lambda label: label[1], default=("", 0.0))[0].strip()


def value_of(thing: Thing) -> str:
    """Returns the text in an element; empty if it equals the name or is a password."""
    e = thing.element
    value = "" if e.role == PASSWORD else e.text.strip()
    return "" if value == e.name.strip() else value


def rank_things(things: Sequence[Thing], task: Task, observation: Observation) -> list[Thing]:
    """Returns the elements, those that a planner needs most first.

    Elements that the task's words name come first, then entries of open menus, then the focused
    window.

    Args:
        things: the elements, in the order of the screen.
        task: its words are compared with those of the elements.
        observation: the look that they are from.
    """
    task_words = tokens(task.instruction)
    front = in_front(observation)

    def rank(thing: Thing) -> tuple[bool, bool, float, bool, bool, bool]:
        return (
            not (task_words & tokens(_build_rank_text(thing))),
            "menu item" not in thing.role,
            -round(thing.front, 1),
            not front(thing.element.window),
            thing.role in SHOWS_TEXT,
            not _has_words(thing),
        )

    return sorted(things, key=rank)


def _build_rank_text(thing: Thing) -> str:
    return f"{name_of(thing) or near_of(thing)} {value_of(thing)[:NAME_CHARS]}"[:TEXT_CHARS]


def _has_words(thing: Thing) -> bool:
    """Whether an element has words other than the address of a cell."""
    name = name_of(thing)
    return bool(value_of(thing) or near_of(thing) or (name and not _ADDRESS.fullmatch(name)))


def in_windows(things: Sequence[Thing], observation: Observation) -> list[Thing]:
    """Returns the focused window's elements, then those of each other window."""
    front = in_front(observation)
    order: dict[str, int] = {}
    for thing in things:
        order.setdefault(thing.element.window, len(order) + 1)

    def place(thing: Thing) -> int:
        window = thing.element.window
        return 0 if front(window) else order[window]

    return sorted(things, key=place)


def describe_thing(thing: Thing, chars: int = NAME_CHARS) -> str:
    """Returns an element's kind, name, value and states, as a line that cannot pose as another."""
    parts = [kind_of(thing)]
    name, value = name_of(thing), value_of(thing)
    long = TEXT_CHARS if chars == NAME_CHARS else chars
    if thing.role in SHOWS_TEXT:
        name, value = name or value, ""
    if thing.role == "arrow part":
        parts.append(_arrow(thing))
    elif name:
        parts.append(f'"{fit_in_quotes(name, long if thing.role in SHOWS_TEXT else chars)}"')
    elif near := near_of(thing):
        parts.append(f'near "{fit_in_quotes(near, chars)}"')
    if value:
        parts.append(f'= "{fit_in_quotes(value, chars)}"')
    if states := ", ".join(states_of(thing)):
        parts.append(f"({states})")
    return " ".join(parts)


def _arrow(thing: Thing) -> str:
    """Returns an arrow's direction or the sign drawn on it, and the control that it belongs to."""
    texts = [text for text, _ in thing.labels]
    ways = [thing.element.name, *(word for word in texts if word in ("plus", "minus"))]
    beside = next((text for text in texts if text.strip() and text not in _DOES), "")
    owner = thing.element.label.strip() or beside.strip()
    of = f' of "{fit_in_quotes(owner)}"' if owner else ""
    return f'"{fit_in_quotes(" or ".join(ways))}"{of}'


def kind_of(thing: Thing) -> str:
    """Returns a plain word for an element's role."""
    if thing.is_made_control:
        return "control"
    if _listens(thing):
        return "link"
    return _KINDS.get(thing.role) or fit_in_quotes(thing.role)


def is_only_text(thing: Thing) -> bool:
    """Whether an element is only read and takes no clicks."""
    return thing.role in SHOWS_TEXT and not _listens(thing)


def _listens(thing: Thing) -> bool:
    """Whether a section of a page is reported as clickable."""
    return thing.role == "section" and "clickable" in thing.element.states


def states_of(thing: Thing) -> Iterator[str]:
    """Yields the states of an element that matter for using it."""
    states = thing.element.states
    yield from (state for state in _STATES if state in states)
    if "checked" in states:
        yield "checked"
    elif "checkable" in states or (
        thing.role in TICKS and (thing.drawn is None or UNCHECKED in states)
    ):
        yield "not checked"
    if thing.element.states and thing.role not in SHOWS_TEXT and _is_disabled(thing):
        yield "disabled"
    if thing.cover:
        yield "perhaps hidden"
    if thing.role in _AREAS:
        yield "what it shows is not told"


def _is_disabled(thing: Thing) -> bool:
    states = thing.element.states
    return "showing" in states and not states & {"enabled", "sensitive"}


def fit_in_quotes(text: str, chars: int = NAME_CHARS) -> str:
    """Returns a text, shortened, that fits between double quotes."""
    return excerpt(text, chars).replace('"', "'")


def place_of(thing: Thing, observation: Observation) -> Place:
    """Returns the place of an element, labelled with its role and name."""
    label = f'{fit_in_quotes(thing.role)} "{fit_in_quotes(name_of(thing) or value_of(thing))}"'
    if not name_of(thing) and (near := near_of(thing)):
        label += f' near "{fit_in_quotes(near)}"'
    return Place("", spot(thing, observation), None, "mark", label, thing.element)
