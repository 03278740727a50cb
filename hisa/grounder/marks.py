"""Marks: a short numbered list of what is on the screen, and the places of its numbers."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from hisa.actions import Action, fill, points, slots, to_source
from hisa.errors import InvalidReply, NotFound
from hisa.events import Grounded, GroundingFailed
from hisa.grounder.common import place_found
from hisa.grounder.elements import spot
from hisa.grounder.scene import SHOWS_TEXT, Scene, Thing, overlap
from hisa.grounder.thing import ARROW_WORDS, UNCHECKED
from hisa.models.tokens import estimate_tokens, longest
from hisa.protocols import Emit, GroundedCall, Grounder, Place, Prefetching, Task, ToolCall
from hisa.screen.bubbles import in_front
from hisa.screen.mark import Mark
from hisa.screen.observation import Observation
from hisa.screen.roles import CONTAINERS, FIELDS, LAYOUT, MULTI_LINE, PASSWORD
from hisa.text.prompt_text import excerpt
from hisa.text.words import quotes, tokens

__all__ = ["LIST_TOKENS", "MarkGrounder", "Marks", "told"]

LIST_TOKENS = 800
"""Most tokens of a list, by the upper estimate: it stands in place of a picture."""
_NAME = 60
"""Characters of a name or a value in a list; chosen by hand."""
_TEXT = 200
"""The same of what is only there to be read."""
_WINDOWS = 6
"""Windows that are named above a list; chosen by hand."""
SHORT_MARKS = 30
"""Most entries of a list for a small model."""
_SHORT_NAME = 40
"""Characters of a name in such a list."""
_MARK = re.compile(r"\s*element\s*[:#]?\s*(\d{1,9})\s*\.?\s*", re.IGNORECASE)
_IN_FRONT = 0.7
"""How usable a thing must be to be listed: what lies behind something is not."""
_HOLDERS = (CONTAINERS | LAYOUT | {"scroll bar", "landmark", "article"}) - {"section"}
"""Roles that hold, order or move others."""
_TICKS = frozenset(
    {"check box", "radio button", "toggle switch", "switch", "check menu item", "radio menu item"}
)
_NAMELESS = FIELDS | _TICKS | {"push button", "button", "toggle button", "slider"}
"""Roles that are worth a number without any words."""
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
"""States that are told as they are."""


class Marks:
    """The newest numbered list, for the planner that reads it and the grounder that resolves it.

    The same look and task always give the same list.

    Args:
        most: entries of a list for a small model.
    """

    def __init__(self, *, most: int = SHORT_MARKS) -> None:
        self._newest: tuple[Place, ...] = ()
        self._most = most

    def listed(self, task: Task, observation: Observation) -> str:
        """Returns the list of what is on the screen, of at most `LIST_TOKENS` tokens.

        What the task's words name and what the focused window holds come first where not all of
        it fits; what is listed stands in the order of the screen.
        """
        scene = Scene(observation)
        things = _in_windows(_worth_telling(scene), observation)
        ranked = _ranked(things, task, observation)
        head, tail = list(_windows(observation)), list(_partial(observation))

        def chosen(size: int) -> list[Thing]:
            best = set(map(id, ranked[:size]))
            return [thing for thing in things if id(thing) in best]

        def text(size: int) -> str:
            body = _body(chosen(size), observation)
            return "\n".join([*head, *body, *_rest(len(things) - size), *tail])

        size = longest(len(things), lambda size: estimate_tokens(text(size)) <= LIST_TOKENS)
        self._newest = tuple(_place(thing, observation) for thing in chosen(size))
        return text(size)

    def brief(
        self, task: Task, observation: Observation, room: int
    ) -> tuple[tuple[Mark, ...], int]:
        """Returns a list of ``room`` tokens for a small model, and how many things it leaves out.

        What the task's words name is kept first; texts that repeat the task stand last, where they
        are taken for its targets least, and those that only label a field are told with it.
        """
        scene = Scene(observation)
        repeats = _repeating(scene, task)
        told = [_plainer(thing, repeats) for thing in _worth_telling(scene)]
        labels = {_plain(_near(t) or _name(t)) for t in told if t.role in FIELDS | _TICKS}
        things = [t for t in told if not _is_only_text(t) or _words(t) not in labels]
        things = _in_windows(things, observation)
        texts = (thing for thing in things if thing.role in SHOWS_TEXT)
        own = {t for t in texts if any(overlap(own.box, t.box) > 0.8 for own in repeats)}
        asked = _asked(things, task, scene)
        ranked = sorted(
            _ranked(things, task, observation), key=lambda t: (t in own, -round(asked[t], 3))
        )

        def chosen(size: int) -> list[Thing]:
            best = set(map(id, ranked[:size]))
            return sorted((t for t in things if id(t) in best), key=own.__contains__)

        def fits(size: int) -> bool:
            lines = (f"{number} {_line(t, t in own)}" for number, t in enumerate(chosen(size), 1))
            return estimate_tokens("\n".join(lines)) <= room

        listed = chosen(longest(min(len(things), self._most), fits))
        self._newest = tuple(_place(thing, observation) for thing in listed)
        marks = tuple(_mark(t, observation, repeats=t in own) for t in listed)
        return marks, len(things) - len(listed)

    def check(self, call: ToolCall) -> None:
        """Refuse numbers that the newest list does not have.

        Raises:
            InvalidReply: which one, and which there are.
        """
        try:
            for index in slots(call.actions):
                self.find(_described(call, index))
        except NotFound as error:
            raise InvalidReply(str(error)) from error

    def find(self, description: str) -> Place | None:
        """The place of ``element: N`` in the newest list; None for any other description.

        Its ``label`` is what the list says of it.

        Raises:
            NotFound: the list has no such number.
        """
        said = _MARK.fullmatch(description)
        if said is None:
            return None
        number = int(said[1])
        if not 1 <= number <= len(self._newest):
            there = f"it goes from 1 to {len(self._newest)}" if self._newest else "it is empty"
            raise NotFound(
                f"element {number} is not on the list of this screen: {there}. Give a number from "
                "it, or describe the element in words"
            )
        return replace(self._newest[number - 1], description=description.strip())


class MarkGrounder:
    """Resolves ``element: N`` to the place in the list that the planner read.

    Every other description is left to another grounder. What history shows of a number is the
    thing that it stood for, since the next list counts anew.

    Args:
        inner: finds what is described in words.
        marks: has the list.
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`.
    """

    def __init__(self, inner: Grounder, marks: Marks, *, emit: Emit) -> None:
        self._inner = inner
        self._marks = marks
        self._emit = emit

    def begin(self, observation: Observation, /) -> None:
        """See `hisa.protocols.Prefetching`: handed on."""
        if isinstance(self._inner, Prefetching):
            self._inner.begin(observation)

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call.

        Raises:
            NotFound: a number that is not on the list; from the inner grounder.
            ModelUnavailable, BudgetExceeded: from the inner grounder.
        """
        started = time.monotonic()
        found = self._found(call)
        if not found:
            return await self._inner.resolve(call, observation)
        theirs = [action for action in call.actions if not _marked(action, found)]
        others = await self._others(call, found, theirs, observation)
        at = {index: place.point for index, place in found.items()}
        rest = iter(others.actions)
        actions = tuple(
            fill([action], at)[0] if _marked(action, found) else next(rest)
            for action in call.actions
        )
        places = (*found.values(), *others.places)
        source = to_source(actions)
        self._emit(
            Grounded(
                places=tuple(map(place_found, places)),
                input=source,
                seconds=time.monotonic() - started,
            )
        )
        labels = {index: place.label for index, place in found.items()}
        return GroundedCall(_with_words(call, labels), source, actions, places)

    def _found(self, call: ToolCall) -> dict[int, Place]:
        """The slots of a call that are numbers, with their places."""
        found = {}
        for index in slots(call.actions):
            description = _described(call, index)
            try:
                place = self._marks.find(description)
            except NotFound as error:
                self._emit(GroundingFailed(description=description, reason=str(error)))
                raise
            if place is not None:
                found[index] = place
        return found

    async def _others(
        self,
        call: ToolCall,
        found: Mapping[int, Place],
        actions: Sequence[Action],
        observation: Observation,
    ) -> GroundedCall:
        """The actions that have no number, resolved by the inner grounder where it has a say."""
        if not slots(actions) and not points(actions):
            return GroundedCall(call, call.input, tuple(actions))
        part = replace(call, actions=tuple(actions), input=to_source(actions))
        return await self._inner.resolve(_with_words(part, dict.fromkeys(found, "")), observation)


def _described(call: ToolCall, index: int) -> str:
    return call.description if index == 1 else call.description_2


def _with_words(call: ToolCall, words: Mapping[int, str]) -> ToolCall:
    """The call with other descriptions of some slots."""
    return replace(
        call,
        description=words.get(1, call.description),
        description_2=words.get(2, call.description_2),
    )


def _marked(action: Action, found: Mapping[int, Place]) -> bool:
    return any(index in found for index in slots([action]))


# ---------------------------------------------------------------- what is listed


def _worth_telling(scene: Scene) -> list[Thing]:
    """The things that a planner can use or read, in the order of the screen, each once."""
    told = _without_doubles([t for t in scene.things if t.front >= _IN_FRONT and _tells(t)])
    # What stands inside a thing follows it in the tree.
    told = [t for at, t in enumerate(told) if not _holds_only(t, islice(told, at + 1, None))]
    long = [t for t in told if t.role in SHOWS_TEXT and len(_words(t).split()) > 1]
    links = {t: replace(t.element, role="link", name=_value(t)) for t in told if _links(t, long)}
    return [replace(t, element=links[t]) if t in links else t for t in told]


def _links(thing: Thing, long: Iterable[Thing]) -> bool:
    """Whether a browser tells a part of a sentence apart: it does so where the page listens to it.

    Without a listener, what is written in such a part belongs to the sentence itself.
    """
    return thing.role == "section" and any(
        thing.box.height < text.box.height and overlap(text.box, thing.box) > 0.8
        for text in long
        if text is not thing and text.role == "section"
    )


def _repeating(scene: Scene, task: Task) -> list[Thing]:
    """The texts on the screen that repeat the task.

    One that the task quotes may be what it is about, and so may one of a few words.
    """
    whole = _plain(task.instruction)
    quoted = set(map(_plain, quotes(task.instruction)))

    def repeats(words: str) -> bool:
        long = len(words.split()) > 2 and 2 * len(words) > len(whole)
        return long and words in whole and words not in quoted

    return [t for t in scene.things if t.role in SHOWS_TEXT and repeats(_words(t))]


def _plainer(thing: Thing, repeats: Sequence[Thing]) -> Thing:
    """The thing named by its text where it has no name, and not labelled by the task's words."""
    texts = list(map(_words, repeats))
    labels = tuple(
        label
        for label in thing.labels
        if len(label[0].split()) < 2 or not any(_plain(label[0]) in text for text in texts)
    )
    if _value(thing) and thing.role not in FIELDS and not (_name(thing) or labels):
        thing = replace(thing, element=replace(thing.element, name=_value(thing)))
    return replace(thing, labels=labels)


def _tells(thing: Thing) -> bool:
    """Whether it has words or is something to use; what only holds or moves others is neither."""
    if thing.role in _HOLDERS or thing.role.startswith("document "):
        return False
    if thing.role in SHOWS_TEXT:
        return thing.is_made_control or bool(_words(thing))
    return thing.role in _NAMELESS or not thing.is_bare


def _without_doubles(things: Sequence[Thing]) -> list[Thing]:
    """Without texts that another thing tells too, and without what surrounds its own double."""
    by_words: dict[str, list[Thing]] = {}
    for thing in things:
        by_words.setdefault(_words(thing), []).append(thing)
    by_words.pop("", None)
    long = [t for t in things if t.role in SHOWS_TEXT and len(_words(t).split()) > 1]

    def is_told(thing: Thing) -> bool:
        words = _words(thing)
        return any(_is_double(thing, other) for other in by_words.get(words, ())) or (
            thing.role in SHOWS_TEXT and any(_is_part(thing, words, other) for other in long)
        )

    return [thing for thing in things if not is_told(thing)]


def _is_double(thing: Thing, other: Thing) -> bool:
    """Whether a thing with the same words stands for it: what it labels, or what it surrounds."""
    if thing is other:
        return False
    texts = thing.role in SHOWS_TEXT, other.role in SHOWS_TEXT
    if texts == (True, False):
        return other.element.label.strip() == _name(thing) or overlap(other.box, thing.box) > 0.5
    if {thing.role, other.role} == {"link", "page tab"} and overlap(thing.box, other.box) > 0.5:
        return thing.role == "link"
    if texts == (True, True) and thing.box == other.box:
        return thing.role == "static" and other.role != "static"
    around = overlap(thing.box, other.box) > 0.8 and thing.box.area > other.box.area
    return around and texts != (False, True)


def _is_part(thing: Thing, words: str, other: Thing) -> bool:
    """Whether a text stands in a longer one, in that part of it which the list shows."""
    whole = _words(other)
    return (
        len(words) < len(whole) <= _TEXT and words in whole and overlap(other.box, thing.box) > 0.8
    )


def _words(thing: Thing) -> str:
    return _plain(_name(thing) or _value(thing))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds_only(thing: Thing, following: Iterable[Thing]) -> bool:
    """Whether a cell or an entry says nothing but what the things inside it say."""
    if thing.role not in ("table cell", "list item", "tree item"):
        return False
    inside = takewhile(lambda t: overlap(thing.box, t.box) > 0.8, following)
    told = {word for t in inside for word in _words(t).split()}
    return bool(told) and told >= set(_words(thing).split())


def _name(thing: Thing) -> str:
    """The name of a thing; empty where it has none."""
    e = thing.element
    return (e.name or e.label or e.description).strip()


def _near(thing: Thing) -> str:
    """The text beside a thing without a name that seems to label it."""
    return max(thing.labels, key=lambda label: label[1], default=("", 0.0))[0].strip()


def _value(thing: Thing) -> str:
    e = thing.element
    value = "" if e.role == PASSWORD else e.text.strip()
    return "" if value == e.name.strip() else value


def _ranked(things: Sequence[Thing], task: Task, observation: Observation) -> list[Thing]:
    """The things by what a planner needs most.

    First what the task's words name, then menus and lists that are open, then the focused window.
    """
    asked = tokens(task.instruction)
    front = in_front(observation)

    def rank(thing: Thing) -> tuple[bool, bool, float, bool, bool, bool]:
        return (
            not (asked & tokens(_said(thing))),
            "menu item" not in thing.role,
            -round(thing.front, 1),
            not front(thing.element.window),
            thing.role in SHOWS_TEXT,
            not _says(thing),
        )

    return sorted(things, key=rank)


def _asked(things: Sequence[Thing], task: Task, scene: Scene) -> Mapping[Thing, float]:
    """Returns how much of the task's words each thing says; what stands around it counts half.

    A word that few things say tells more.
    """
    asked = tokens(task.instruction)
    said = {thing: asked & tokens(told(thing)[:_TEXT]) for thing in things}
    near = {thing: (asked & scene.around(thing)) - said[thing] for thing in things}
    counts = [Counter(w for words in by.values() for w in words) for by in (said, near)]
    return {
        thing: sum(1 / counts[0][word] for word in said[thing])
        + sum(0.5 / counts[1][word] for word in near[thing])
        for thing in things
    }


def _said(thing: Thing) -> str:
    return f"{_name(thing) or _near(thing)} {_value(thing)[:_NAME]}"[:_TEXT]


def _says(thing: Thing) -> bool:
    """Whether it has words besides the address of a cell."""
    name = _name(thing)
    return bool(_value(thing) or _near(thing) or (name and not _ADDRESS.fullmatch(name)))


# ---------------------------------------------------------------- how it is written


def _windows(observation: Observation) -> Iterator[str]:
    active = observation.active
    if active is not None:
        yield f'window: "{_quoted(active.title)}" ({_quoted(active.app)})'
    others = [w.title for w in observation.windows if w is not active]
    if others:
        yield "other windows: " + "; ".join(f'"{_quoted(t)}"' for t in others[:_WINDOWS])


def _in_windows(things: Sequence[Thing], observation: Observation) -> list[Thing]:
    """The focused window's things, then those of each other window."""
    front = in_front(observation)
    order: dict[str, int] = {}
    for thing in things:
        order.setdefault(thing.element.window, len(order) + 1)

    def place(thing: Thing) -> int:
        window = thing.element.window
        return 0 if front(window) else order[window]

    return sorted(things, key=place)


def _body(things: Sequence[Thing], observation: Observation) -> Iterator[str]:
    window, front = "", in_front(observation)
    for number, thing in enumerate(things, 1):
        if thing.element.window != window and not front(thing.element.window):
            window = thing.element.window
            yield f'in "{_quoted(window)}":'
        yield f"{number} {told(thing)}"


def told(thing: Thing, chars: int = _NAME) -> str:
    """Kind, name, value and states of a thing, in words that cannot pose as another line.

    Args:
        thing: what is told.
        chars: most of a name or a value.
    """
    parts = [_kind(thing)]
    name, value = _name(thing), _value(thing)
    long = _TEXT if chars == _NAME else chars
    if thing.role in SHOWS_TEXT:
        name, value = name or value, ""
    if thing.role == "arrow part":
        parts.append(_arrow(thing))
    elif name:
        parts.append(f'"{_quoted(name, long if thing.role in SHOWS_TEXT else chars)}"')
    elif near := _near(thing):
        parts.append(f'near "{_quoted(near, chars)}"')
    if value:
        parts.append(f'= "{_quoted(value, chars)}"')
    if states := ", ".join(_states(thing)):
        parts.append(f"({states})")
    return " ".join(parts)


def _line(thing: Thing, repeats: bool) -> str:
    """An entry for a small model: that a field is empty is told, and that a text is the task's."""
    line = told(thing, _SHORT_NAME)
    if repeats:
        return f"{line} (the task's own words)"
    if thing.role in FIELDS and not thing.element.text.strip():
        return f"{line} (empty)"
    if thing.role == PASSWORD:
        return f"{line} (filled)"
    folded = thing.element.states & {"expandable", "expanded"} == {"expandable"}
    return f"{line} (collapsed)" if folded else line


def _mark(thing: Thing, observation: Observation, *, repeats: bool) -> Mark:
    states = set(_states(thing))
    return Mark(
        _line(thing, repeats),
        _kind(thing),
        _name(thing) or _near(thing) or (_value(thing) if thing.role in SHOWS_TEXT else ""),
        _value(thing),
        observation.convert_box(thing.box, "image"),
        is_text=_is_only_text(thing) and not thing.is_made_control,
        takes_text=thing.role in FIELDS | {"table cell"}
        or bool(thing.element.states & (MULTI_LINE | {"editable"})),
        is_line=thing.role in FIELDS - {"terminal"} and not thing.element.states & MULTI_LINE,
        is_filled=bool(thing.element.text.strip()),
        is_off="not checked" in states,
        is_on=bool(states & {"checked", "selected"}),
        is_folded=thing.element.states & {"expandable", "expanded"} == {"expandable"},
        repeats_task=repeats,
    )


def _arrow(thing: Thing) -> str:
    """The way an arrow points, or what is drawn on it instead, and whose it is."""
    texts = [text for text, _ in thing.labels]
    ways = [thing.element.name, *(word for word in texts if word in ("plus", "minus"))]
    beside = next((text for text in texts if text.strip() and text not in _DOES), "")
    owner = thing.element.label.strip() or beside.strip()
    of = f' of "{_quoted(owner)}"' if owner else ""
    return f'"{_quoted(" or ".join(ways))}"{of}'


def _kind(thing: Thing) -> str:
    if thing.is_made_control:
        return "control"
    if _listens(thing):
        return "link"
    return _KINDS.get(thing.role) or _quoted(thing.role)


def _is_only_text(thing: Thing) -> bool:
    return thing.role in SHOWS_TEXT and not _listens(thing)


def _listens(thing: Thing) -> bool:
    """Whether a part of a page that only shows text is told to take clicks."""
    return thing.role == "section" and "clickable" in thing.element.states


def _states(thing: Thing) -> Iterator[str]:
    states = thing.element.states
    yield from (state for state in _STATES if state in states)
    if "checked" in states:
        yield "checked"
    elif "checkable" in states or (
        thing.role in _TICKS and (thing.drawn is None or UNCHECKED in states)
    ):
        yield "not checked"
    if thing.element.states and thing.role not in SHOWS_TEXT and _is_disabled(thing):
        yield "disabled"


def _is_disabled(thing: Thing) -> bool:
    states = thing.element.states
    return "showing" in states and not states & {"enabled", "sensitive"}


def _rest(left_out: int) -> Iterator[str]:
    if left_out:
        yield f"({left_out} more are on the screen: describe in words what is not listed.)"


def _partial(observation: Observation) -> Iterator[str]:
    if not observation.complete:
        yield "(Not all elements could be read in time: what is not listed may be there.)"


def _quoted(text: str, chars: int = _NAME) -> str:
    return excerpt(text, chars).replace('"', "'")


def _place(thing: Thing, observation: Observation) -> Place:
    label = f'{_quoted(thing.role)} "{_quoted(_name(thing) or _value(thing))}"'
    if not _name(thing) and (near := _near(thing)):
        label += f' near "{_quoted(near)}"'
    return Place("", spot(thing, observation), None, "mark", label)
