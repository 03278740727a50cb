"""The facts of a step that two looks prove, whatever a model makes of the pictures.

Only what is certain overrules a model: a message that came up, an application whose windows are
all gone, a click that did not reach its window.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from hisa.actions import Action, Click, Drag, Hotkey, Press, Sleep, Write, points
from hisa.outcomes.verdicts import DIALOG_APPEARED
from hisa.protocols import GroundedCall, Place
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.lies_at import element_at
from hisa.screen.observation import Element, Observation, Window
from hisa.screen.roles import FIELDS, PASSWORD
from hisa.state.lines import call_description, call_input
from hisa.state.written_files import Written
from hisa.text.prompt_text import excerpt, field_text

__all__ = [
    "AWAITED",
    "DIALOGS",
    "dialogs_that_appeared",
    "disabled_facts",
    "field_facts",
    "held_facts",
    "intent_of",
    "is_complete",
    "is_inside",
    "smallest_focused",
    "surprise",
    "written_facts",
]

DIALOGS = frozenset({"alert", "dialog", "file chooser"})
"""Roles of windows, and of parts of pages, that come up over others."""
_WORDS = frozenset({"alert", "heading", "label", "paragraph", "static", "text"})
"""Roles whose name or text is what a dialog says."""
_SAID_CHARS = 200  # chosen by hand
_NAMED_FILES = 3
"""A step's line has some 100 tokens for its result; three paths take half of them."""
_ALARM = re.compile(
    r"\b(?:alert|cannot|can't|could not|crash(?:ed)?|denied|does not exist|error|failed|failure"
    r"|invalid|no such|not found|not responding|recovery|unable to|warning)\b",
    re.IGNORECASE,
)
"""Words of trouble; they are looked for in titles and messages of windows that just came."""
AWAITED = re.compile(
    r"\b(?:alerts?|ask(?:s|ed|ing)?|confirm\w*|dialog\w*|message|pop-?ups?|prompts?|questions?"
    r"|warnings?)\b",
    re.IGNORECASE,
)
"""Words with which an intent says that it awaits a message."""
_LEAVING = re.compile(
    r"\b(?:clos\w*|discard\w*|don.?t save|end task|exit\w*|kill\w*|log ?out|pkill|quit\w*"
    r"|reboot|restart\w*|shut ?down|terminat\w*|uninstall\w*)\b",
    re.IGNORECASE,
)
_ASKS_TO_LEAVE = re.compile(r"\b(?:clos|discard|exit|quit|save|unsaved)", re.IGNORECASE)
_LEAVING_KEYS = ({"alt", "f4"}, {"ctrl", "q"}, {"ctrl", "w"}, {"ctrl", "f4"}, {"ctrl", "d"})
_MAIN_SHARE = 0.4
"""Share of the screen from which on a window is an application's and no dialog."""
_POINTER = 24
"""Image pixels within which a pointer is drawn around its hot spot; an arrow is 24 high."""
_FILLED_SHARE = 0.6
"""Of the larger of two boxes; the shadow around a dialog of 400 x 200 takes a third of its box."""
_POPPING = frozenset({"list item", "menu", "menu item", "check menu item", "radio menu item"})
"""Roles of what is in an open list or menu."""
_CLIENT_BITS = 21
"""Low bits of a window's number in X that its program chooses; those above are the program's."""
_REACH = 12
"""Image pixels around a click in which a change counts as its own: a button's border."""


def surprise(
    call: GroundedCall, before: Observation, after: Observation, regions: Sequence[BoundingBox]
) -> str:
    """Returns the unexpected things that were seen, a dialog's own words first; empty for none.

    Args:
        call: what ran.
        before: the look before it.
        after: the look after it.
        regions: the image-space boxes that changed; empty where none did.
    """
    return (
        _message(call, before, after)
        or (_vanished(call, before, after) if regions else "")
        or _missed(call, before, after, regions)
        or _covered(call, before)
    )


def is_complete(look: Observation) -> bool:
    """Whether the look's elements can be relied on: a partial list proves nothing missing."""
    return look.all_elements is not None


def field_facts(call: GroundedCall, before: Observation, after: Observation) -> tuple[bool, str]:
    """Whether the field with the focus changed, and what it is and holds; empty if not known.

    Only where the elements are known before and after can it have changed.
    """
    old = smallest_focused(before.all_elements or ())
    new = smallest_focused(after.all_elements or ())
    if new is None:
        return False, ""
    name = field_text(excerpt(new.name or new.label, 40)).replace('"', "'")
    told = f'The focus is on {new.role} "{name}"'
    typed = _typed_last(call)
    if new.text and new.role != PASSWORD:
        what = "what was typed: " if typed and typed in new.text else ""
        told += f', which holds {what}"{field_text(excerpt(new.text, 80))}"'
    replaced = new.text == typed and any(_selects_all(action) for action in call.actions)
    holds = new.role != PASSWORD and bool(typed) and replaced
    return old is not None and (holds or _is_effect(call, old, new)), f"{told}."


def held_facts(call: GroundedCall, before: Observation, after: Observation) -> str:
    """Tell which keys were held down while a step acted, and which it left held down."""
    acting = any(isinstance(act, Click | Drag | Hotkey | Press | Write) for act in call.actions)
    during = [*map(field_text, before.held)] if acting else []
    since = [field_text(name) for name in after.held if name not in before.held]
    sentences = [f"Done while held down: {', '.join(during)}."] if during else []
    return " ".join([*sentences, f"Still held down: {', '.join(since)}."] if since else sentences)


def written_facts(written: Written) -> str:
    """Returns a sentence on the files written, or that none was; empty where that is not known."""
    names = [field_text(excerpt(path, 80)) for path in written.paths]
    if not names:
        return "No file in the home folder was written." if written.complete else ""
    more = len(names) - _NAMED_FILES
    if more > 0:
        return f"The files {', '.join(names[:_NAMED_FILES])} and {more} more were written."
    if len(names) == 1:
        return f"The file {names[0]} was written."
    return f"The files {', '.join(names[:-1])} and {names[-1]} were written."


def _typed_last(call: GroundedCall) -> str:
    """The text that a step ended with; empty where it went on, as to the next field."""
    acts = [action for action in call.actions if not isinstance(action, Sleep)]
    last = acts[-1] if acts else None
    return last.text.strip() if isinstance(last, Write) else ""


def _selects_all(action: Action) -> bool:
    return isinstance(action, Hotkey) and {key.lower() for key in action.keys} == {"ctrl", "a"}


def _is_effect(call: GroundedCall, old: Element, new: Element) -> bool:
    """Whether what the focus is on now is more than what it was on, and the step's own doing.

    Where the focus moved, what was typed has to be in the field that has it now.
    """
    if _content(old) == _content(new):
        return False
    typed = "".join(action.text for action in call.actions if isinstance(action, Write)).strip()
    return (old.role, old.box) == (new.role, new.box) or typed in new.text


def _content(element: Element) -> tuple[object, ...]:
    box = element.box
    place = (round(box.left), round(box.top))
    return element.role, element.name, element.text, element.states, place


def smallest_focused(elements: Iterable[Element]) -> Element | None:
    """The smallest element with the focus: frames and panels claim it for what they hold."""
    found = [element for element in elements if "focused" in element.states]
    return min(found, key=lambda element: element.box.area, default=None)


# ---------------------------------------------------------------- a message that came up


def _message(call: GroundedCall, before: Observation, after: Observation) -> str:
    intent = intent_of(call)
    for role, title, said, asks in _new_dialogs(before, after):
        named = _named(title, intent)
        trouble = _ALARM.search(title if named and role != "alert" else f"{title} {said}")
        if not (trouble or asks) and (role != "alert" or named):
            continue
        if not AWAITED.search(intent):
            return _told(role, title, said)
    return ""


def dialogs_that_appeared(before: Observation, after: Observation) -> list[Window]:
    """The windows that were not there before and are no more than a dialog, by their size."""
    if not before.windows:
        return []
    known = {window.id for window in before.windows}
    return [w for w in after.windows if w.id not in known and not _is_main(w, after)]


def _told(role: str, title: str, said: str) -> str:
    words = f"“{said}”" if said else f"“{title}”"
    named = f" “{title}”" if title and said else ""
    return f"{words} says the {role}{named} {DIALOG_APPEARED}."


def _new_dialogs(before: Observation, after: Observation) -> Iterator[tuple[str, str, str, bool]]:
    """Role, title and words of each dialog that was not there before, and whether it asks."""
    known = {(e.role, e.name, e.window) for e in before.elements or () if e.role in DIALOGS}
    windows = dialogs_that_appeared(before, after)
    for element in after.elements or ():
        if element.role not in DIALOGS:
            continue
        if is_complete(before):
            new = (element.role, element.name, element.window) not in known
        else:  # what was there before is not known, but which windows were is
            new = any(_fills(element.box, window) for window in windows)
        if new:
            title = field_text(excerpt(element.name, 60))
            said = _words(element, after.elements or ())
            yield element.role, title, said, "?" in said and _only_asks(element, after)
    known_ids = {window.id for window in before.windows}
    for window in after.windows:
        if before.windows and window.id not in known_ids:
            yield "window", field_text(excerpt(window.title, 60)), "", False


def _fills(box: BoundingBox, window: Window) -> bool:
    """Whether a box is about that of a window; a toolkit may count its shadow or its title."""
    if window.box is None:
        return False
    common = box.intersection(window.box)
    shared = common.area if common else 0.0
    return shared >= _FILLED_SHARE * max(box.area, window.box.area)


def _words(dialog: Element, elements: Sequence[Element]) -> str:
    """Returns the text of a dialog, in reading order, without its title."""
    said: list[str] = [dialog.text] if dialog.text else []
    for element in elements:
        inside = is_inside(element, dialog)
        text = (element.text or element.name).strip()
        if inside and element.role in _WORDS and element is not dialog and text not in said:
            said.append(text)
    return field_text(excerpt(" ".join(text for text in said if text != dialog.name), _SAID_CHARS))


def is_inside(element: Element, dialog: Element) -> bool:
    """Whether an element is a part of a dialog, which may itself be a part of a window."""
    same = element.window == (dialog.window or dialog.name)
    return same and dialog.box.contains(element.box.centre)


def _only_asks(dialog: Element, look: Observation) -> bool:
    """Whether a dialog has buttons and no field: a question, not a form to be filled in."""
    inside = [each for each in look.elements or () if is_inside(each, dialog)]
    return not any(e.role in FIELDS and "editable" in e.states for e in inside) and any(
        "button" in e.role for e in inside
    )


def _named(title: str, intent: str) -> bool:
    """Whether an intent speaks of a title: a word of four letters or more in common."""
    stems = {word[:5] for word in re.findall(r"\w{4,}", title.casefold())}
    return any(word[:5] in stems for word in re.findall(r"\w{4,}", intent.casefold()))


# ---------------------------------------------------------------- an application that is gone


def _vanished(call: GroundedCall, before: Observation, after: Observation) -> str:
    """An application all of whose windows went, although nothing said that they should."""
    if not after.windows and len({window.app for window in before.windows}) != 1:
        return ""  # no list of windows is no proof
    new_ids = {window.id for window in after.windows} - {window.id for window in before.windows}
    for app in dict.fromkeys(window.app for window in before.windows):
        windows = [window for window in before.windows if window.app == app]
        left = any(_same_program(one, other) for one in windows for other in after.windows)
        if not app or left or new_ids or _was_to_go(call, windows, before):
            continue
        titles = ", ".join(f"“{field_text(excerpt(w.title, 60))}”" for w in windows[:3])
        return (
            f"All windows of {field_text(app)} are gone, though nothing was to be closed: {titles}."
        )
    return ""


def _same_program(one: Window, other: Window) -> bool:
    """Whether two windows are of one program; the dialogs of some are called otherwise."""
    return one.app == other.app or (_client(one) == _client(other) != 0)


def _client(window: Window) -> int:
    """The number that X gave the program of a window; 0 where the id is not one of X's."""
    try:
        return int(window.id, 16) >> _CLIENT_BITS
    except ValueError:
        return 0


def _was_to_go(call: GroundedCall, windows: Sequence[Window], look: Observation) -> bool:
    """Whether the step was to close an application, or answered the question whether to."""
    aimed = f"{call_description(call)} {call_input(call)}"
    if _LEAVING.search(aimed) or any(_closes(action) for action in call.actions):
        return True
    if all(window.dialog for window in windows):  # any act may answer one
        return bool(call.actions)
    if len(windows) > 1:  # closing a dialog leaves the window that it belongs to
        front = next((window.title for window in windows if window.active), "")
        return _ASKS_TO_LEAVE.search(front) is not None
    if _LEAVING.search(call.call.thought):
        return True
    answers = any(isinstance(action, Click | Press) for action in call.actions)
    return answers and not _is_main(windows[0], look)


def _is_main(window: Window, look: Observation) -> bool:
    """Whether it is more than a dialog, which goes when it is answered: by its role or its size."""
    roles = {
        e.role for e in look.elements or () if e.name == window.title and e.parent in (None, -1)
    }
    if roles & (DIALOGS | {"frame"}):
        return not roles & DIALOGS
    size = window.box or window.size
    screen = look.screen.width * look.screen.height
    return size is not None and size.width * size.height >= _MAIN_SHARE * screen


def _closes(action: Action) -> bool:
    return isinstance(action, Hotkey) and set(action.keys) in _LEAVING_KEYS


# ---------------------------------------------------------------- a click that missed its window


def _missed(
    call: GroundedCall, before: Observation, after: Observation, regions: Sequence[BoundingBox]
) -> str:
    """A click behind the window in front, which stayed there and kept it from its target."""
    clicks = [action for action in call.actions if isinstance(action, Click)]
    front, still = before.active, after.active
    if not clicks or front is None or still is None or front.id != still.id or front.box is None:
        return ""
    for point in points(clicks):
        place = before.convert(point, "screen")
        if front.box.contains(place) or not _behind(place, front, before):
            continue
        if any(_near(point, region) and not _is_pointer(point, region) for region in regions):
            continue
        x, y = point.rounded()
        title = field_text(excerpt(front.title, 60))
        said = _front_words(front, before)
        told = f"The click at ({x}, {y}) did nothing: it was behind “{title}”, which is in front."
        return f"{said} says “{title}”, which is in front. {told}" if said else told
    return ""


def _covered(call: GroundedCall, look: Observation) -> str:
    """A click on an element whose window lay under another one at that place."""
    for place in call.places:
        at = look.convert(place.point, "screen")
        target = _aimed_at(place, at, look)
        boxes = [w for w in look.windows if w.box is not None and w.box.contains(at)]
        # The window on top comes last. What is in no window is a menu, or the desktop.
        if target is None or target.window not in {window.title for window in boxes}:
            continue
        if boxes[-1].title != target.window and not _sticks_out(target, boxes[-1], look):
            x, y = place.point.rounded()
            top, under = (field_text(excerpt(t, 60)) for t in (boxes[-1].title, target.window))
            return f"The click at ({x}, {y}) hit the window “{top}”, which covers “{under}” there."
    return ""


def _sticks_out(target: Element, top: Window, look: Observation) -> bool:
    """Whether it is in a list or a menu that is open above all windows.

    A toolkit may tell such a list as a part of the window behind, and no window manager knows it.
    """
    under = next((w for w in look.windows if w.title == target.window), None)
    same = under is not None and _same_program(under, top)
    return same and target.role in _POPPING and top.active


def disabled_facts(call: GroundedCall, look: Observation) -> str:
    """Returns a sentence on the disabled thing that was clicked; empty for none, or not known."""
    clicks = [action for action in call.actions if isinstance(action, Click)]
    if not any("enabled" in element.states for element in look.elements or ()):
        return ""
    for point in points(clicks):
        element = element_at(point, look)
        named = element is not None and (element.name or element.label)
        if element is not None and named and not element.states & {"enabled", "sensitive"}:
            name = field_text(excerpt(named, 40))
            return f"{element.role.capitalize()} “{name}” is disabled: the click did nothing."
    return ""


def _aimed_at(place: Place, at: Point, look: Observation) -> Element | None:
    """The element that the grounder chose, by its role and place."""
    found = [
        element
        for element in look.elements or ()
        if element.box.contains(at) and place.label.startswith(f'{element.role} "')
    ]
    return min(found, key=lambda element: element.box.area, default=None)


def _behind(place: Point, front: Window, look: Observation) -> bool:
    """Whether a place belongs to another window of the application whose window is in front."""
    for element in look.elements or ():
        if element.window == front.title and element.box.contains(place):
            return False  # a menu or a list that sticks out of its window
    others = (w for w in look.windows if w.id != front.id and _same_program(w, front))
    return any(window.box is not None and window.box.contains(place) for window in others)


def _near(point: Point, region: BoundingBox) -> bool:
    return (
        region.left - _REACH <= point.x < region.right + _REACH
        and region.top - _REACH <= point.y < region.bottom + _REACH
    )


def _is_pointer(point: Point, region: BoundingBox) -> bool:
    """Whether a change may be the pointer alone, which takes another shape over a text."""
    return all(
        abs(x - point.x) <= _POINTER and abs(y - point.y) <= _POINTER
        for x, y in ((region.left, region.top), (region.right, region.bottom))
    )


def _front_words(front: Window, look: Observation) -> str:
    """Returns the text of the dialog in front, in quotes; empty for other windows, or not known."""
    for element in look.elements or ():
        if element.role in DIALOGS and element.name == front.title:
            said = _words(element, look.elements or ())
            return f"“{said}”" if said else ""
    return ""


def intent_of(call: GroundedCall) -> str:
    """Returns what a step was for: its thought, its description and its input."""
    return f"{call.call.thought} {call_description(call)} {call_input(call)}"
