"""What changed on the screen in words: windows, focus and the elements inside the changed box."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

from hisa.actions import Click, Drag, Hotkey, Press, Sleep, Write, points
from hisa.protocols import GroundedCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import CONTAINERS, PASSWORD
from hisa.state.facts import is_complete, is_inside, smallest_focused
from hisa.state.held_regions import DIALOGS
from hisa.text.prompt_text import excerpt, one_line

__all__ = ["MAX_CHARS", "MAX_LINES", "compared", "describe_changes"]

# Chosen by hand, these four, to keep the list short in a prompt.
MAX_LINES = 20
MAX_CHARS = 160
_NAME_CHARS = 40
_VALUE_CHARS = 48
_LINE_END = " ⏎ "
"""Shown where two texts differ in their line breaks alone."""
_STATES = ("checked", "selected", "expanded", "pressed")
"""States whose change is a change of what the element says."""

_FIRST = frozenset({"alert", "dialog", "file chooser", "frame", "menu", "notification", "window"})
"""Roles that announce the rest; they are named first."""

_PROSE = frozenset(
    {"heading", "label", "list item", "paragraph", "section", "static", "text block"}
)
"""Roles of written words; browsers list them twice, as a paragraph and as the text in it."""

_PROSE_ORDER = {"static": 1, "section": 2, "paragraph": 2, "label": 2, "heading": 3}
"""Roles of words alone, after what holds a value; of what says the same the first is told."""
_ENTRIES = frozenset({"list item", "menu item", "option", "table cell", "tree item"})
"""Roles of what is one of many: other words at its place are another entry."""
_TERMINAL = "terminal"
_ROW_CHARS = 110
"""Of what a terminal wrote, so that the line keeps `MAX_CHARS`."""

_LEAST_PIXELS = 4
"""Width and height in image pixels below which a colour tells nothing."""

_BULLET = re.compile(r"^\W+")

_TITLED = frozenset({"frame", "internal frame", "root pane", "window"})
"""Roles whose name is the title of a window, which the line of windows tells; so is that of any
document."""

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
    """At most 20 lines of at most 160 characters; None where nothing can be compared.

    What the step acted on comes first, then windows and the focus, then all else.

    Forms: ``window: A -> B``, ``focus: role "A" -> role "B"``, ``order: role "A" before role "B"``
    (they changed places), ``selection: "text"``, ``~ role "name": "old" -> "new"`` (``!`` where the
    step acted on it), ``+ role "name" text="…"`` and ``- …``; where none of these did,
    ``look: role "name"`` for the element whose pixels changed. Windows are compared wherever they
    are known, elements only where both looks have all of them.

    Args:
        before: the look before the action.
        after: the look after it.
        roi: the changed box in image space; None where no pixel changed.
        call: what ran; None: nothing is known of what it acted on.
        hidden: what was listed until a dialog came, which is no news once that is gone.
    """
    lines = [*_window_lines(before, after)]
    if not (is_complete(before) and is_complete(after)):
        return tuple(_bounded(lines)) if lines else None
    lines += _focus_line(before.elements or (), after.elements or ())
    if roi is not None:
        old, new = _inside(before, roi), _inside(after, roi)
        pairs, come, gone = compared(old, new)
        known = {_identity(element)[:4] for element in hidden}  # it was there all the time
        pairs = [pair for pair in pairs if _identity(pair[1])[:4] not in known]
        come, gone = _seen_changes(come, gone)
        come = [element for element in come if _identity(element)[:4] not in known]
        come, gone = _painted(come, after), _painted(gone, before)
        acted = _acted_on(pairs, call, after) if call is not None else []
        others = [pair for pair in pairs if pair not in acted]
        lines = [*_changed_lines("!", acted), *lines, *_changed_lines("~", others)]
        lines += [*_order_lines(old, new), *_listed("+", come), *_listed("-", gone)]
        if call is not None and not pairs:
            lines += _selection_lines(call, before, after)
        if not any(line[0] in "!~+-os" for line in lines):
            lines += _painted_lines(before, after, old) or (
                [] if lines else _look_lines(after, roi)
            )
    return tuple(_bounded(lines))


def _bounded(lines: list[str]) -> list[str]:
    lines = [line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…" for line in lines]
    if len(lines) <= MAX_LINES:
        return lines
    return [*lines[: MAX_LINES - 1], f"… and {len(lines) - MAX_LINES + 1} more changes"]


def _quoted(text: str, chars: int = _NAME_CHARS) -> str:
    return '"' + excerpt(text, chars).replace('"', "'") + '"'


def _named(element: Element) -> str:
    name = element.name or element.label or element.description
    return f"{excerpt(element.role, 24)} {_quoted(name)}"


def _look_lines(look: Observation, roi: BoundingBox) -> list[str]:
    """The smallest element with a name around a change that no element tells of."""
    region = look.convert_box(roi, "screen")
    around = (
        each
        for each in look.elements or ()
        if (each.name or each.label) and each.box.intersection(region) == region
    )
    smallest = min(around, key=lambda element: element.box.area, default=None)
    return [f"look: {_named(smallest)}"] if smallest else []


def _painted(elements: list[Element], look: Observation) -> list[Element]:
    """Those of them that are painted, if any is: others lie under a cover, or await the pointer."""
    return [element for element in elements if _colour(element, look) is None] or elements


def _colour(element: Element, look: Observation, *, inner: bool = False) -> str | None:
    """The one colour that an element's box has, or the middle of it; None: it has several."""
    box = look.convert_box(element.box, "image")
    if inner:
        across, down = box.width / 4, box.height / 4
        box = BoundingBox(box.left + across, box.top + down, box.right - across, box.bottom - down)
    left, top, right, bottom = map(round, (box.left, box.top, box.right, box.bottom))
    size = look.image
    corners = max(0, left), max(0, top), min(size.width, right), min(size.height, bottom)
    if min(corners[2] - corners[0], corners[3] - corners[1]) < _LEAST_PIXELS:
        return None
    picture = look.without_pointer.screenshot.pixels.crop(corners)
    return "#" + picture.resize((1, 1)).tobytes().hex() if picture.getcolors(1) else None


def _painted_lines(before: Observation, after: Observation, elements: list[Element]) -> list[str]:
    """Lists what was there all the time, and is painted or in another colour only now."""
    named = [e for e in elements if e.name and e.role not in CONTAINERS | _PROSE]
    lines = []
    for sign, one, other in (("+", before, after), ("-", after, before)):
        bare = [e for e in named if _colour(e, one) and not _colour(e, other)]
        lines += _listed(sign, bare)
    for element in named:
        was, now = (_colour(element, look, inner=True) for look in (before, after))
        if was and now and was != now and not lines:
            lines.append(f'! {_named(element)}: "{was}" -> "{now}"')
    return lines


def _selection_lines(call: GroundedCall, before: Observation, after: Observation) -> list[str]:
    """The text that a step selected: with nothing typed after that, it still is."""
    last = next((a for a in reversed(call.actions) if not isinstance(a, Sleep)), None)
    selects = isinstance(last, Drag | Hotkey) or (isinstance(last, Click) and last.count > 1)
    if not selects or after.selection in ("", before.selection):
        return []
    return [f"selection: {_quoted(after.selection, _ROW_CHARS)}"]


def _order_lines(before: list[Element], after: list[Element]) -> list[str]:
    """Lists what stands before another now that it stood behind, in a column or a row."""
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
                    first, second = _named_by_words(column[at]), _named_by_words(column[at + 1])
                    return [f"order: {first} before {second}"]
    return []


def _same_words(element: Element) -> tuple[str, str]:
    return element.role, _words(element)


def _named_by_words(element: Element) -> str:
    return f"{excerpt(element.role, 24)} {_quoted(_words(element))}"


def _window_lines(before: Observation, after: Observation) -> Iterator[str]:
    old, new = map(_title, (before, after))
    if old != new:
        yield f"window: {excerpt(old, 70) or '(none)'} -> {excerpt(new, 70) or '(none)'}"
    was, now = (_titles(one, other) for one, other in ((before, after), (after, before)))
    renamed = old != new and (was - now)[old] > 0 and (now - was)[new] > 0
    for sign, titles, told in (("+", now - was, new), ("-", was - now, old)):
        for title in titles:
            if title and not (renamed and title == told):
                yield f"{sign} window {_quoted(title, 70)}"


def _titles(look: Observation, other: Observation) -> Counter[str]:
    """The titles of a look's windows, but for those that bear another in the other look."""
    named = {window.id: window.title for window in other.windows}
    return Counter(w.title for w in look.windows if named.get(w.id, w.title) == w.title)


def _title(look: Observation) -> str:
    """The title of the window in front; by the elements where no window is known."""
    if look.active is not None:
        return look.active.title
    frames = (e for e in look.elements or () if e.role in _TITLED and "active" in e.states)
    return "" if look.windows else next((frame.name for frame in frames), "")


def _focus_line(before: Iterable[Element], after: Iterable[Element]) -> list[str]:
    old, new = smallest_focused(before), smallest_focused(after)
    same = old == new or (
        old is not None
        and new is not None
        and (old.role, old.name, old.label, old.box) == (new.role, new.name, new.label, new.box)
    )
    if same:
        return []
    return [f"focus: {_named(old) if old else '(none)'} -> {_named(new) if new else '(none)'}"]


def _inside(look: Observation, roi: BoundingBox) -> list[Element]:
    """The elements that the box touches; the box is converted once, not each element."""
    region = look.convert_box(roi, "screen")
    return [
        element for element in look.elements or () if element.box.intersection(region) is not None
    ]


def _says(element: Element) -> str:
    """Returns the element's text and states."""
    states = [state for state in _STATES if state in element.states]
    return " ".join(filter(None, (_text(element), *states)))


def _text(element: Element) -> str:
    """The text; never that of a password field."""
    return "•" * len(element.text) if element.role == PASSWORD else element.text


def _corners(element: Element) -> tuple[int, int, int, int]:
    box = element.box
    return round(box.left), round(box.top), round(box.right), round(box.bottom)


def _identity(element: Element) -> _Identity:
    return (element.role, element.name, element.label, _says(element), _corners(element))


def compared(
    before: list[Element], after: list[Element]
) -> tuple[list[_Pair], list[Element], list[Element]]:
    """The elements that changed, those that came, and those that are gone."""
    gone, come = _without_common(before, after, _identity)
    # Scrolled or moved: the same element elsewhere says nothing new.
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
    """Whether it is one of many that its words tell from the others."""
    told = element.text in ("", element.name) or not element.name
    return element.role in _ENTRIES and told and "editable" not in element.states


def _acted_on(pairs: list[_Pair], call: GroundedCall, look: Observation) -> list[_Pair]:
    """Those of the changed elements that the step clicked or typed into, in its order.

    Of several at a clicked place it is the smallest: the others hold it.
    """
    found: list[_Pair] = []
    for place in (*(place.point for place in call.places), *points(call.actions)):
        here = [
            pair
            for pair in pairs
            if pair[1].role not in CONTAINERS and _holds(pair, look.convert(place, "screen"))
        ]
        found += sorted(here, key=lambda pair: pair[1].box.area)[:1]
    if any(isinstance(action, Write | Press | Hotkey) for action in call.actions):
        found += [pair for pair in pairs if any("focused" in each.states for each in pair)]
    return [pair for number, pair in enumerate(found) if pair not in found[:number]]


def _holds(pair: _Pair, at: Point) -> bool:
    return any(element.box.contains(at) for element in pair)


def _without_common(
    before: list[Element], after: list[Element], key: _Key
) -> tuple[list[Element], list[Element]]:
    """The elements of either list that have no counterpart in the other."""
    old, new = [key(element) for element in before], [key(element) for element in after]
    return _rest(before, old, Counter(new)), _rest(after, new, Counter(old))


def _rest(elements: list[Element], keys: list[object], other: Counter[object]) -> list[Element]:
    kept = []
    for element, key in zip(elements, keys, strict=True):
        if other[key] > 0:
            other[key] -= 1
        else:
            kept.append(element)
    return kept


def _pairs(gone: list[Element], come: list[Element], key: _Key) -> list[_Pair]:
    """Those that are alone under their key on both sides: anything else would be a guess."""
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


def _changed_lines(sign: str, pairs: list[_Pair]) -> list[str]:
    """Lists changes, values before words that head others, and repeated ones once."""
    said: set[tuple[str, str]] = set()
    lines: list[str] = []
    for old, new in sorted(pairs, key=lambda pair: _PROSE_ORDER.get(pair[1].role, 0)):
        words = (_words(old), _words(new))
        if new.role not in _PROSE_ORDER or words not in said:
            lines += _changed_line(sign, old, new)
        said.add(words)
    return lines


def _words(element: Element) -> str:
    return _BULLET.sub("", element.text or element.name).strip()


def _changed_line(sign: str, old: Element, new: Element) -> Iterator[str]:
    if old.role in _TITLED or old.role.startswith("document "):
        return
    was, now = (set(_STATES) & element.states for element in (old, new))
    if was != now:
        states = (_quoted(" ".join(sorted(each))) for each in (was, now))
        yield f"{sign} {_named(new)}: {' -> '.join(states)}"
    told = [_text(old), _text(new)]
    if told[0] == told[1]:
        told = [old.name, new.name]
    if new.role == _TERMINAL:
        yield from _new_rows(old, new)
        return
    if one_line(told[0]) == one_line(told[1]):
        told = [text.replace("\n", _LINE_END) for text in told]
    if one_line(told[0]) == one_line(told[1]):
        return
    before, after = _around_difference(*told)
    shown = _quoted(after, _VALUE_CHARS)
    named = _named(old)
    if named.endswith(shown):  # its value is its name
        named = f'{excerpt(old.role, 24)} ""'
    yield f"{sign} {named}: {_quoted(before, _VALUE_CHARS)} -> {shown}"


def _new_rows(old: Element, new: Element) -> Iterator[str]:
    """The rows that a terminal has written, the last of them where they are many."""
    known = Counter(row.strip() for row in old.text.splitlines())
    rows = []
    for row in filter(None, map(str.strip, new.text.splitlines())):
        known[row] -= 1
        rows += [row] if known[row] < 0 else []
    text = _LINE_END.join(rows)
    if text:
        yield f'+ {_TERMINAL} "" text={_quoted(text[-_ROW_CHARS:], _ROW_CHARS)}'


def _around_difference(was: str, now: str) -> tuple[str, str]:
    """Both texts from shortly before the place where they part, where they are long."""
    if len(was) <= _VALUE_CHARS and len(now) <= _VALUE_CHARS:
        return was, now
    parted = (at for at, (old, new) in enumerate(zip(was, now, strict=False)) if old != new)
    start = next(parted, min(len(was), len(now))) - 12
    return (was, now) if start <= 0 else (f"…{was[start:]}", f"…{now[start:]}")


def _listed(sign: str, elements: list[Element]) -> list[str]:
    telling = [
        each for each in elements if any(map(str.isalnum, f"{each.name}{each.label}{each.text}"))
    ]
    telling.sort(key=lambda element: element.role not in _FIRST)
    # A paragraph and the text in it say the same.
    first: dict[object, Element] = {}
    for element in telling:
        first.setdefault(_content(element), element)
    telling = [element for element in telling if first[_content(element)] is element]
    return [f"{sign} {_named(element)}{_spoken(element)}" for element in telling]


def _content(element: Element) -> object:
    """Returns what tells an element from those that say the same; of words, the words alone."""
    words = element.text or element.name
    return _BULLET.sub("", words).strip() if element.role in _PROSE and words else id(element)


def _seen_changes(come: list[Element], gone: list[Element]) -> tuple[list[Element], list[Element]]:
    """Those that came and went for the eye.

    Over a page or a window that waits for an answer, all else is no longer listed, and is listed
    again afterwards; it was there all the time, dimmed or not.
    """
    if dialogs := [element for element in come if element.role in DIALOGS]:
        gone = [element for element in gone if element.role in _FIRST]
        come = [e for e in come if e.role in _FIRST or any(is_inside(e, d) for d in dialogs)]
    return come, gone


def _spoken(element: Element) -> str:
    text = _text(element)
    return f" text={_quoted(text, _VALUE_CHARS)}" if text and text != element.name else ""
