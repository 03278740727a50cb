"""Describes the changes on the screen: windows, values, new and missing elements, the focus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from hisa.actions import Click, Drag, Hotkey, Press, Sleep, Write, points
from hisa.protocols import GroundedCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import CONTAINERS, PASSWORD
from hisa.state.facts import DIALOGS, is_complete, is_inside, smallest_focused
from hisa.text.prompt_text import excerpt, one_line, short

__all__ = ["IDLE", "compare_elements", "describe_changes"]

_LOOK = "The look of "
IDLE = ("The focus is on ", _LOOK)
"""Beginnings of sentences that may describe no real effect."""
_NAME_CHARS, _VALUE_CHARS, _ROW_CHARS = 40, 48, 110
_VALUES, _ACTED, _NAMED = 2, 8, 3
"""Most values that the step did not act on, values that it did, and elements in a list. All six
numbers are chosen by hand."""
_LINE_END = " ⏎ "
"""Replaces line breaks if two texts differ only in these."""
_STATES = ("checked", "selected", "expanded", "pressed")
"""States that are reported like a value: a change of them is a change of the element."""
_FIRST = frozenset({"alert", "dialog", "file chooser", "frame", "menu", "notification", "window"})
"""Roles of elements that contain the other new ones; these are named first."""
_WINDOWS = _FIRST - {"menu"}
_PROSE = frozenset(
    {"heading", "label", "list item", "paragraph", "section", "static", "text block"}
)
"""Roles of text; browsers list it twice, as a paragraph and as the text in it."""
_PROSE_ORDER = {"static": 1, "section": 2, "paragraph": 2, "label": 2, "heading": 3}
"""Order of the roles that only have words, after all that have a value. Of several elements with
the same words only the first is reported."""
_ENTRIES = frozenset({"list item", "menu item", "option", "table cell", "tree item"})
"""Roles of one entry among many: other words at its place mean another entry."""
_TERMINAL = "terminal"
_LEAST_PIXELS = 4
"""Width and height in image pixels below which a box is not checked for having one colour."""
_BULLET = re.compile(r"^\W+")
_TITLED = frozenset({"frame", "internal frame", "root pane", "window"})
"""Roles whose name is the title of a window, which is reported for the window."""

_Identity = tuple[str, str, str, str, tuple[int, int, int, int]]
_Key = Callable[[Element], object]
_Pair = tuple[Element, Element]
"""An element before and after."""


def describe_changes(
    before: Observation,
    after: Observation,
    roi: BoundingBox | None,
    call: GroundedCall | None = None,
    *,
    hidden: Collection[Element] = (),
) -> tuple[str, ...] | None:
    """Returns sentences, the most informative first; None if nothing can be compared.

    They describe the elements that the step acted on, then windows, other values, new and missing
    elements, and the focus. If none of these changed, they name the element whose pixels changed.
    Windows are compared whenever they are known, elements only if both looks have all of them.

    Args:
        before: the look before the action.
        after: the look after it.
        roi: the changed box in image space; None if no pixel changed.
        call: the executed call; None if its targets are not known.
        hidden: elements that a dialog hid: they are not new after it closes.
    """
    known = is_complete(before) and is_complete(after)
    if not known or roi is None:
        windows = [*_window_sentences(before, after, [], [])]
        focus = _focus_sentence(before, after) if known else []
        return (*windows, *focus) if known or windows else None
    old, new = _inside(before, roi), _inside(after, roi)
    pairs, come, gone = compare_elements(old, new)
    listed = {_identity(element)[:4] for element in hidden}  # these existed all along
    pairs = [pair for pair in pairs if _identity(pair[1])[:4] not in listed]
    come, gone = _seen_changes(come, gone)
    come = [element for element in come if _identity(element)[:4] not in listed]
    come, gone = _telling(_select_painted(come, after)), _telling(_select_painted(gone, before))
    acted = _select_acted_pairs(pairs, call, after) if call is not None else []
    others = [pair for pair in pairs if pair not in acted]
    rows = [text for pair in pairs if (text := _new_rows(*pair))]
    values = [*_value_sentence(others, _VALUES)]
    sentences = [
        *_value_sentence(acted, _ACTED),
        *_window_sentences(before, after, come, gone),
        *values,
        *(f"New in the terminal: “{text}”." for text in rows[:1]),
        *_order_sentence(old, new),
        *(_selection_sentence(call, before, after) if call is not None and not pairs else ()),
        *_list_things("New on the screen", come, " ".join(values)),
        *_list_things("Gone", gone),
    ]
    if not sentences:
        sentences += _painted_sentences(before, after, old)
    sentences += _focus_sentence(before, after)
    return tuple(sentences or _look_sentence(after, roi))


def _quote(text: str, chars: int = _NAME_CHARS) -> str:
    return f"“{short(excerpt(text, chars), chars)}”"


def _name(element: Element) -> str:
    return element.name or element.label or element.description


def _describe(element: Element, name: str | None = None) -> str:
    """Returns the role and name of an element."""
    name = _name(element) if name is None else name
    role = excerpt(element.role, 24)
    return f"{role} {_quote(name)}" if name else role


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _look_sentence(observation: Observation, roi: BoundingBox) -> list[str]:
    """Names the smallest element around changed pixels that no element's text explains."""
    region = observation.convert_box(roi, "screen")
    around = (
        element
        for element in observation.elements or ()
        if (element.name or element.label) and element.box.intersection(region) == region
    )
    smallest = min(around, key=lambda element: element.box.area, default=None)
    if smallest is None:
        return []
    return [f"{_LOOK}{_describe(smallest)} changed; no listed text or value did."]


def _select_painted(elements: list[Element], observation: Observation) -> list[Element]:
    """Returns the elements that are painted, or all if none is.

    An element that is not painted is covered, or appears only under the pointer.
    """
    return [element for element in elements if not _is_plain(element, observation)] or elements


def _is_plain(element: Element, observation: Observation) -> bool:
    """Whether an element's box has a single colour."""
    box = observation.convert_box(element.box, "image")
    left, top, right, bottom = map(round, (box.left, box.top, box.right, box.bottom))
    size = observation.image
    corners = max(0, left), max(0, top), min(size.width, right), min(size.height, bottom)
    if min(corners[2] - corners[0], corners[3] - corners[1]) < _LEAST_PIXELS:
        return False
    return bool(observation.without_pointer.screenshot.pixels.crop(corners).getcolors(1))


def _painted_sentences(
    before: Observation, after: Observation, elements: list[Element]
) -> list[str]:
    """Lists elements of both trees that have only now been painted, or no longer are."""
    named = [e for e in elements if e.name and e.role not in CONTAINERS | _PROSE]
    sentences: list[str] = []
    for head, first, second in (("New on the screen", before, after), ("Gone", after, before)):
        bare = [e for e in named if _is_plain(e, first) and not _is_plain(e, second)]
        sentences += _list_things(head, _telling(bare))
    return sentences


def _selection_sentence(
    call: GroundedCall, before: Observation, after: Observation
) -> Iterator[str]:
    """Names the text that a step selected, if that was its last action."""
    last = next((a for a in reversed(call.actions) if not isinstance(a, Sleep)), None)
    selects = isinstance(last, Drag | Hotkey) or (isinstance(last, Click) and last.count > 1)
    if selects and after.selection not in ("", before.selection):
        yield f"The text {_quote(after.selection, _ROW_CHARS)} is selected."


def _order_sentence(before: list[Element], after: list[Element]) -> list[str]:
    """Reports one entry of a column or row that has moved before another."""
    keys = [Counter(map(_same_words, elements)) for elements in (before, after)]
    known = {key for key, count in keys[0].items() if count == keys[1][key] == 1 and key[1]}
    old = {_same_words(e): e for e in before if _same_words(e) in known}
    new = sorted((e for e in after if _same_words(e) in known), key=lambda e: _corners(e)[1::-1])
    for edge in (0, 1):
        columns: dict[tuple[str, int, int], list[Element]] = {}
        for element in new:
            was = _corners(old[_same_words(element)])[edge]
            columns.setdefault((element.role, was, _corners(element)[edge]), []).append(element)
        for column in columns.values():
            places = [_corners(old[_same_words(e)])[1 - edge] for e in column]
            for at, place in enumerate(places[:-1]):
                if place > places[at + 1]:
                    first, second = (_describe(e, _words(e)) for e in column[at : at + 2])
                    return [f"{_capital(first)} now stands before {second}."]
    return []


def _same_words(element: Element) -> tuple[str, str]:
    return element.role, _words(element)


def _window_sentences(
    before: Observation, after: Observation, come: Sequence[Element], gone: Sequence[Element]
) -> Iterator[str]:
    """Names a window that opened and one that closed, or else the new one in front."""
    old, new = map(_title, (before, after))
    was, now = (_titles(look, other) for look, other in ((before, after), (after, before)))
    opened, closed = now - was, was - now
    renamed = old != new and closed[old] > 0 and opened[new] > 0
    appeared = [("window", t) for t in opened if t and not (renamed and t == new)]
    appeared += [(e.role, _name(e)) for e in come if e.role in _WINDOWS]
    went = [("window", t) for t in closed if t and not (renamed and t == old)]
    went += [(e.role, _name(e)) for e in gone if e.role in _WINDOWS and _name(e)]
    if appeared:
        role, name = next((pair for pair in appeared if pair[1]), appeared[0])
        yield f"{_capital(role)} {_quote(name, 60)} appeared." if name else f"A {role} appeared."
    if went:
        yield f"{_capital(went[0][0])} {_quote(went[0][1], 60)} is gone."
    elif old != new and not appeared:
        yield f"The window in front is now {_quote(new or '(none)', 70)}."


def _titles(observation: Observation, other: Observation) -> Counter[str]:
    """Returns the titles of a look's windows, without those that have another one in ``other``."""
    named = {window.id: window.title for window in other.windows}
    return Counter(w.title for w in observation.windows if named.get(w.id, w.title) == w.title)


def _title(observation: Observation) -> str:
    """Returns the title of the window in front; from the elements if no window is known."""
    if observation.active is not None:
        return observation.active.title
    frames = (e for e in observation.elements or () if e.role in _TITLED and "active" in e.states)
    return "" if observation.windows else next((frame.name for frame in frames), "")


def _focus_sentence(before: Observation, after: Observation) -> list[str]:
    old, new = (smallest_focused(observation.elements or ()) for observation in (before, after))
    places = [element and (*_identity(element)[:3], element.box) for element in (old, new)]
    if places[0] == places[1]:
        return []
    return [f"{IDLE[0]}{_describe(new) if new else '(none)'}."]


def _inside(observation: Observation, roi: BoundingBox) -> list[Element]:
    """Returns the elements that overlap a box; the box is converted once, not each element."""
    region = observation.convert_box(roi, "screen")
    return [
        element
        for element in observation.elements or ()
        if element.box.intersection(region) is not None
    ]


def _says(element: Element) -> str:
    """Returns the element's text and states."""
    states = [state for state in _STATES if state in element.states]
    return " ".join(filter(None, (_text(element), *states)))


def _text(element: Element) -> str:
    """Returns the element's text; of a password field only its length, as dots."""
    return "•" * len(element.text) if element.role == PASSWORD else element.text


def _corners(element: Element) -> tuple[int, int, int, int]:
    box = element.box
    return round(box.left), round(box.top), round(box.right), round(box.bottom)


def _identity(element: Element) -> _Identity:
    return (element.role, element.name, element.label, _says(element), _corners(element))


def compare_elements(
    before: list[Element], after: list[Element]
) -> tuple[list[_Pair], list[Element], list[Element]]:
    """Returns the elements that changed, those that are new, and those that are gone."""
    gone, come = _without_common(before, after, _identity)
    # An element that only moved, as by scrolling, is no change.
    gone, come = _without_common(gone, come, lambda e: _identity(e)[:4])
    changed: list[_Pair] = []
    keys: tuple[_Key, ...] = (
        lambda e: (e.role, _corners(e), _words(e) if _is_entry(e) else ""),
        lambda e: (e.role, e.name, e.label),
    )
    for key in keys:
        pairs = _pairs(gone, come, key)
        changed += pairs
        gone = _excluding(gone, [old for old, _ in pairs])
        come = _excluding(come, [new for _, new in pairs])
    return changed, come, gone


def _is_entry(element: Element) -> bool:
    """Whether an element is one entry of many and is distinguished from them by its words."""
    has_single_text = element.text in ("", element.name) or not element.name
    return element.role in _ENTRIES and has_single_text and "editable" not in element.states


def _select_acted_pairs(
    pairs: list[_Pair], call: GroundedCall, observation: Observation
) -> list[_Pair]:
    """Returns the changed elements that the step clicked or typed into, in the step's order.

    Of several at a clicked place only the smallest is returned: the others contain it.
    """
    acted_pairs: list[_Pair] = []
    for place in (*(place.point for place in call.places), *points(call.actions)):
        here = [
            pair
            for pair in pairs
            if pair[1].role not in CONTAINERS and _holds(pair, observation.convert(place, "screen"))
        ]
        acted_pairs += sorted(here, key=lambda pair: pair[1].box.area)[:1]
    if any(isinstance(action, Write | Press | Hotkey) for action in call.actions):
        acted_pairs += [
            pair for pair in pairs if any("focused" in element.states for element in pair)
        ]
    return [pair for number, pair in enumerate(acted_pairs) if pair not in acted_pairs[:number]]


def _holds(pair: _Pair, at: Point) -> bool:
    return any(element.box.contains(at) for element in pair)


def _without_common(
    before: list[Element], after: list[Element], key: _Key
) -> tuple[list[Element], list[Element]]:
    """Returns the elements of each list that have no counterpart in the other."""
    old, new = [key(element) for element in before], [key(element) for element in after]
    return _select_rest(before, old, Counter(new)), _select_rest(after, new, Counter(old))


def _select_rest(
    elements: list[Element], keys: list[object], other: Counter[object]
) -> list[Element]:
    rest = []
    for element, key in zip(elements, keys, strict=True):
        if other[key] > 0:
            other[key] -= 1
        else:
            rest.append(element)
    return rest


def _pairs(gone: list[Element], come: list[Element], key: _Key) -> list[_Pair]:
    """Pairs the elements whose key is unique on both sides: any other pair would be a guess."""
    old, new = [key(element) for element in gone], [key(element) for element in come]
    times, target = (Counter(old), Counter(new)), dict(zip(new, come, strict=True))
    return [
        (element, target[own])
        for element, own in zip(gone, old, strict=True)
        if times[0][own] == times[1][own] == 1
    ]


def _excluding(elements: list[Element], paired: list[Element]) -> list[Element]:
    known = {id(element) for element in paired}
    return [element for element in elements if id(element) not in known]


def _value_sentence(pairs: list[_Pair], most: int) -> Iterator[str]:
    """Yields a sentence on changed values; elements with the same change share a clause."""
    clauses: dict[str, list[str]] = {}
    changes = [change for pair in _drop_repeats(pairs) for change in _value_changes(*pair)]
    for thing, change in changes[:most]:
        clauses.setdefault(change, []).append(thing)
    if clauses:
        yield "; ".join(_clause(things, change) for change, things in clauses.items()) + "."


def _drop_repeats(pairs: list[_Pair]) -> Iterator[_Pair]:
    """Yields pairs with values first and headings last; of those with the same words, the first."""
    known_words: set[tuple[str, str]] = set()
    for old, new in sorted(pairs, key=lambda pair: _PROSE_ORDER.get(pair[1].role, 0)):
        words = (_words(old), _words(new))
        if new.role not in _PROSE_ORDER or words not in known_words:
            yield old, new
        known_words.add(words)


def _clause(things: Sequence[str], change: str) -> str:
    *first, last = things
    if not first:
        return f"{_capital(last)} {change}"
    plural = re.sub(r"^now reads", "now read", change)
    plural = change.replace("is n", "are n") if plural == change else plural
    return f"{_capital(', '.join(first))} and {last} {plural}"


def _words(element: Element) -> str:
    return _BULLET.sub("", element.text or element.name).strip()


def _value_changes(old: Element, new: Element) -> Iterator[tuple[str, str]]:
    """Yields the name of an element and its change: for its states, then for its text."""
    if old.role in _TITLED | {_TERMINAL} or old.role.startswith("document "):
        return
    was, now = (set(_STATES) & element.states for element in (old, new))
    if was != now:
        changes = [f"is now {state}" for state in sorted(now - was)]
        changes += [f"is no longer {state}" for state in sorted(was - now)]
        yield _describe(new), " and ".join(changes)
    texts = [_text(old), _text(new)]
    if texts[0] == texts[1]:
        texts = [old.name, new.name]
    if one_line(texts[0]) == one_line(texts[1]):
        texts = [text.replace("\n", _LINE_END) for text in texts]
    if one_line(texts[0]) == one_line(texts[1]):
        return
    shown = _quote(_from_difference(*texts), _VALUE_CHARS)
    named = _describe(old)
    yield excerpt(old.role, 24) if named.endswith(shown) else named, f"now reads {shown}"


def _new_rows(old: Element, new: Element) -> str:
    """Returns the new rows of a terminal, or the end of them if they are long."""
    if new.role != _TERMINAL:
        return ""
    known = Counter(row.strip() for row in old.text.splitlines())
    rows = []
    for row in filter(None, map(str.strip, new.text.splitlines())):
        known[row] -= 1
        rows += [row] if known[row] < 0 else []
    return excerpt(_LINE_END.join(rows)[-_ROW_CHARS:], _ROW_CHARS)


def _from_difference(was: str, now: str) -> str:
    """Returns the new text; if texts are long, only from just before the first difference."""
    if len(was) <= _VALUE_CHARS and len(now) <= _VALUE_CHARS:
        return now
    parted = (at for at, (old, new) in enumerate(zip(was, now, strict=False)) if old != new)
    start = next(parted, min(len(was), len(now))) - 12
    return now if start <= 0 else f"…{now[start:]}"


def _telling(elements: list[Element]) -> list[Element]:
    """Returns the elements that have words, each text once; windows, dialogs and menus first."""
    telling = [e for e in elements if any(map(str.isalnum, f"{e.name}{e.label}{e.text}"))]
    telling.sort(key=lambda element: element.role not in _FIRST)
    first: dict[object, Element] = {}
    for element in telling:  # a paragraph and the text in it have the same words
        first.setdefault(_words(element) if element.role in _PROSE else id(element), element)
    return [element for element in telling if any(element is unique for unique in first.values())]


def _list_things(head: str, elements: Sequence[Element], earlier_text: str = "") -> Iterator[str]:
    """Yields a sentence on new or missing elements, without windows and names just mentioned."""
    things = [
        f"{excerpt(element.role, 24)} {name}"
        for element in elements
        if element.role not in _WINDOWS
        and (name := _quote(_shown(element), 60)) not in earlier_text
    ]
    more = f" and {len(things) - _NAMED} more" if len(things) > _NAMED else ""
    if things:
        yield f"{head}: {', '.join(things[:_NAMED])}{more}."


def _shown(element: Element) -> str:
    return _text(element) or _name(element)


def _seen_changes(come: list[Element], gone: list[Element]) -> tuple[list[Element], list[Element]]:
    """Returns the elements that came and went from a person's point of view.

    While a dialog waits for an answer, the tree does not list the elements behind it. They existed
    all along, dimmed or not, and are listed again afterwards.
    """
    if dialogs := [element for element in come if element.role in DIALOGS]:
        gone = [element for element in gone if element.role in _FIRST]
        come = [e for e in come if e.role in _FIRST or any(is_inside(e, d) for d in dialogs)]
    return come, gone
