"""Finds what a page or program objects to in a step: dialogs, refusals and error values.

It reads the windows and elements that are new or changed. A page's message beside a field or in a
corner has no role of its own, so it is recognised by its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hisa.actions import Write
from hisa.outcomes.verdicts import DIALOG_APPEARED
from hisa.protocols import GroundedCall
from hisa.screen.geometry import BoundingBox
from hisa.screen.hit_test import cover_at, element_at
from hisa.screen.observation import Element, Observation, Window
from hisa.screen.roles import FIELDS
from hisa.state.changes import compare_elements
from hisa.state.facts import DIALOGS, is_complete, is_inside, is_same, name_element
from hisa.state.lines import call_description, call_input
from hisa.state.typed_text import read_back
from hisa.text.prompt_text import excerpt, field_text

__all__ = ["find_surprise", "is_refusal"]

_ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#SPILL!", "#VALUE!"})
_ERROR_NUMBER = re.compile(r"Err:\d{3}")
"""LibreOffice shows this in a cell whose formula has no value."""
_REFUSING = re.compile(
    r"\b(?:please|sorry|oops|must(?: not)?|required|missing|mandatory|invalid|incorrect|wrong"
    r"|mismatch|malformed|unknown|unsupported|unavailable|offline|recovery|crash(?:ed)?|expired|exceed(?:s|ed)|denied"
    r"|refused|rejected|declined|forbidden|blocked|locked|conflict|fail(?:s|ed|ure)?|errors?"
    r"|warning|cannot|can.t|could ?n.t|could not|unable|not (?:a|an|allowed|available|enough|found"
    r"|in|permitted|responding|possible|saved|sent|supported|the|valid|yet)|no (?:longer|such|more)"
    r"|(?:is|are|was|were|did|do|does|has|have)(?: not|n.t)|already|try again|at (?:least|most)"
    r"|too (?:big|early|few|large|late|long|many|short|small|weak)|(?:un)?able to|only"
    r"|should(?: be)?|expected|limit|out of (?:range|stock)|use (?:a|an|the))\b",
    re.IGNORECASE,
)
"""Words of a refusal; they are looked for only in the few words that just appeared."""
_GRANTING = re.compile(
    r"\b(?:thank|success\w*|welcome|please wait|done|saved|sent|booked|added|created|updated"
    r"|copied|completed?|confirmed|no (?:errors?|warnings?|problems?))\b",
    re.IGNORECASE,
)
"""Words of a success: a text with one of these is no refusal, whatever else it says."""
_DENYING = re.compile(r"\b(?:not|n.t|cannot|un\w+|failed|error)\b", re.IGNORECASE)
_SPOKEN = frozenset(
    {"alert", "block quote", "heading", "info bar", "label", "list item", "notification"}
    | {"paragraph", "section", "static", "status bar", "text"}
)
"""Roles of text that says something; a new button or menu item only offers something."""
_OPENED = frozenset({"menu", "menu item", "check menu item", "radio menu item", "list item"})
"""Roles of what opens over a clicked element: a menu or list."""
_FEW = 6
"""Most new texts that may be an answer to the step; more are another page."""
_CHARS = 160
_FILLED_SHARE = 0.6
"""Least common share of the larger of two boxes for a dialog to be the window itself. The shadow
around a dialog of 400 x 200 takes a third of its box."""


def find_surprise(call: GroundedCall, before: Observation, after: Observation) -> str:
    """Returns a sentence on the first sign that a step went wrong; empty if there is none.

    A sign is a dialog, a message of the page, something that covers the target, or lost text.

    Args:
        call: what was done.
        before: the look before it.
        after: the look after it.
    """
    return (
        _read_new_dialog(call, before, after)
        or _find_page_refusal(call, before, after)
        or _find_cover(call, before, after)
        or _find_lost_text(call, before, after)
    )


def _find_lost_text(call: GroundedCall, before: Observation, after: Observation) -> str:
    writes = any(isinstance(act, Write) for act in call.actions)
    typed = read_back(call, before, after) if writes else None
    return typed.sentence if typed is not None and typed.verdict == "differs" else ""


def _find_cover(call: GroundedCall, before: Observation, after: Observation) -> str:
    """Returns a sentence on an element that now covers the one that was clicked.

    If it appeared at the moment of the click, it may have received the click.
    """
    for place in call.places:
        was = element_at(place.point, before)
        left = [e for e in after.elements or () if was is not None and is_same(e, was)]
        for element in left:
            over = cover_at(element, place.point, after)
            opened = over is None or over.role in _OPENED or _is_in_dialog(over, after)
            if over is not None and not opened:
                return f"Over {name_element(element)} lies {name_element(over)} now."
    return ""


def _is_in_dialog(element: Element, observation: Observation) -> bool:
    """Whether an element is a dialog or a part of one."""
    dialogs = [candidate for candidate in observation.elements or () if candidate.role in DIALOGS]
    return any(element is dialog or is_inside(element, dialog) for dialog in dialogs)


# ---------------------------------------------------------------- a dialog that came up


def _read_new_dialog(call: GroundedCall, before: Observation, after: Observation) -> str:
    """Returns the words of a new dialog that asks, alerts or refuses.

    A dialog that the step speaks of was expected; it counts only if its title refuses or it asks.
    """
    for role, title, words, asks in _new_dialogs(before, after):
        named = _is_named(title, _intent(call))
        refuses = is_refusal(title if named and role != "alert" else f"{title} {words}")
        if refuses or asks or (role == "alert" and not named):
            quoted = f"“{words}”" if words else f"“{title}”"
            name = f" “{title}”" if title and words else ""
            return f"{quoted} says the {role}{name} {DIALOG_APPEARED}."
    return ""


def _new_dialogs(before: Observation, after: Observation) -> Iterator[tuple[str, str, str, bool]]:
    """Yields role, title and words of each new dialog, and whether it asks something."""
    known = {(e.role, e.name, e.window) for e in before.elements or () if e.role in DIALOGS}
    ids = {window.id for window in before.windows}
    windows = [w for w in after.windows if before.windows and w.id not in ids]
    for element in after.elements or ():
        if element.role not in DIALOGS:
            continue
        if is_complete(before):
            new = (element.role, element.name, element.window) not in known
        else:  # the elements before are not known, but the windows are
            new = any(_fills(element.box, window) for window in windows)
        if new:
            words = _dialog_words(element, after.elements or ())
            asks = "?" in words and _only_asks(element, after)
            yield element.role, field_text(excerpt(element.name, 60)), words, asks
    for window in windows:
        yield "window", field_text(excerpt(window.title, 60)), "", False


def _fills(box: BoundingBox, window: Window) -> bool:
    """Whether a box is about as large as a window; toolkits may count its shadow or title bar."""
    common = box.intersection(window.box) if window.box is not None else None
    if window.box is None or common is None:
        return False
    return common.area >= _FILLED_SHARE * max(box.area, window.box.area)


def _dialog_words(dialog: Element, elements: Sequence[Element]) -> str:
    """Returns the text of a dialog, in reading order, without its title."""
    texts = [dialog.text] if dialog.text else []
    for element in elements:
        text = (element.text or element.name).strip()
        inside = element is not dialog and is_inside(element, dialog)
        if inside and element.role in _SPOKEN and text not in texts:
            texts.append(text)
    return field_text(excerpt(" ".join(text for text in texts if text != dialog.name), 200))


def _only_asks(dialog: Element, observation: Observation) -> bool:
    """Whether a dialog has buttons and no field: a question, not a form to be filled in."""
    inside = [element for element in observation.elements or () if is_inside(element, dialog)]
    return not any(e.role in FIELDS and "editable" in e.states for e in inside) and any(
        "button" in e.role for e in inside
    )


def _is_named(title: str, intent: str) -> bool:
    """Whether an intent speaks of a title: they share a word of four letters or more."""
    stems = {word[:5] for word in re.findall(r"\w{4,}", title.casefold())}
    return any(word[:5] in stems for word in re.findall(r"\w{4,}", intent.casefold()))


def _intent(call: GroundedCall) -> str:
    """Returns what a step was for: its thought, its description and its input."""
    return f"{call.call.thought} {call_description(call)} {call_input(call)}"


# ---------------------------------------------------------------- what a page or a cell says


def _find_page_refusal(call: GroundedCall, before: Observation, after: Observation) -> str:
    if not (call.actions and is_complete(before) and is_complete(after)):
        return ""
    pairs, come, _ = compare_elements(list(before.elements or ()), list(after.elements or ()))
    known = {_words(element) for element in before.elements or ()}
    opened = {w.title for w in after.windows} - {w.title for w in before.windows}
    fresh = [new for _, new in pairs if _words(new) not in known] + come
    fresh = [element for element in fresh if element.window not in opened]  # see `_read_new_dialog`
    for element in fresh:
        if error := _error(_words(element)):
            return _stands(error, element)
    dialogs = [element for element in come if element.role in DIALOGS]
    fresh = [e for e in fresh if not any(is_inside(e, dialog) for dialog in dialogs)]
    texts = dict.fromkeys(_texts(fresh, known))
    if len(texts) > _FEW:
        return ""
    labels = {name for element in after.elements or () for name in _labels(element)}
    typed = " ".join(action.text for action in call.actions if isinstance(action, Write))
    intent = _intent(call).casefold()
    for words in (text for text in texts if text not in labels):
        if is_refusal(words) and words.casefold() not in intent and words not in typed:
            return f"“{field_text(excerpt(words, _CHARS))}” came up on the screen."
    return ""


def is_refusal(words: str) -> bool:
    """Whether a text refuses or reports an error, rather than a success."""
    grants = _GRANTING.search(words) and not _DENYING.search(words)  # "not saved" is denied
    return bool(_REFUSING.search(words) and not grants)


def _error(text: str) -> str:
    """Returns the text if it is an error value of a cell; else an empty text."""
    return text if text in _ERRORS or _ERROR_NUMBER.fullmatch(text) else ""


def _stands(error: str, cell: Element) -> str:
    name = field_text(excerpt(cell.name, 40))
    return f"“{error}” stands in {cell.role} “{name}” now." if name else f"A cell shows “{error}”."


def _texts(fresh: Sequence[Element], known: set[str]) -> Iterator[str]:
    """Yields the texts that were not on the screen before."""
    for element in fresh:
        words = _words(element)
        spoken = element.role in _SPOKEN and "editable" not in element.states
        if spoken and words not in known and any(map(str.isalpha, words)):
            yield words


def _labels(element: Element) -> tuple[str, ...]:
    """Returns the label of an element, and its name unless that is the text it shows."""
    own = element.name if element.role not in _SPOKEN else ""
    return (" ".join(element.label.split()), " ".join(own.split()))


def _words(element: Element) -> str:
    return " ".join((element.text or element.name).split())
