"""What a page or a program says against a step: refusals, messages and error values.

It is read off the elements that came or changed. A page's own words, said beside a field or in a
corner, have no role that tells them from others: what they say does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hisa.actions import Write
from hisa.protocols import GroundedCall
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS
from hisa.state.changes import compared
from hisa.state.facts import AWAITED, DIALOGS, intent_of, is_complete, is_inside, surprise
from hisa.text.prompt_text import excerpt, field_text

__all__ = ["unexpected"]

_ERROR_VALUE = re.compile(r"Err:\d{3}|#(?:DIV/0!|N/A|NAME\?|NULL!|NUM!|REF!|VALUE!|SPILL!)")
"""What a spreadsheet shows in a cell whose formula has no value."""
_REFUSING = re.compile(
    r"\b(?:please|sorry|oops|must(?: not)?|required|missing|mandatory|invalid|incorrect|wrong"
    r"|mismatch|malformed|unknown|unsupported|unavailable|offline|expired|exceed(?:s|ed)|denied"
    r"|refused|rejected|declined|forbidden|blocked|locked|conflict|fail(?:s|ed|ure)?|errors?"
    r"|warning|cannot|can.t|could ?n.t|could not|unable|not (?:a|an|allowed|available|enough|found"
    r"|in|permitted|possible|saved|sent|supported|the|valid|yet)|no (?:longer|such|more)"
    r"|(?:is|are|was|were|did|do|does|has|have)(?: not|n.t)|already|try again|at (?:least|most)"
    r"|too (?:big|early|few|large|late|long|many|short|small|weak)|(?:un)?able to|only"
    r"|should(?: be)?|expected|limit|out of (?:range|stock)|use (?:a|an|the))\b",
    re.IGNORECASE,
)
"""Words with which something is refused; they are looked for in the few words that just came."""
_GRANTING = re.compile(
    r"\b(?:thank|success\w*|welcome|please wait|done|saved|sent|booked|added|created|updated"
    r"|copied|completed?|confirmed|no (?:errors?|warnings?|problems?))\b",
    re.IGNORECASE,
)
"""Words with which something is granted: what else is said beside them is no refusal."""
_SHAPE = re.compile(
    r"\b(?:YYYY|DD|MM|HH|hh|mm|yyyy|dd|tt|jj|aaaa|jjjj)\b(?:[-/.: ]\b(?:YYYY|DD|MM|HH|SS|yyyy|dd|mm"
    r"|ss|hh)\b)+"
)
"""How a date or a time is to be written."""
_SPOKEN = frozenset(
    {"alert", "block quote", "heading", "info bar", "label", "list item", "notification"}
    | {"paragraph", "section", "static", "status bar", "text"}
)
"""Roles of what is said; a button or a menu item that came offers something."""
_DENYING = re.compile(r"\b(?:not|n.t|cannot|un\w+|failed|error)\b", re.IGNORECASE)

_FEW = 6
"""Things said that came at most for them to be an answer; more are another page."""
_CHARS = 160


def unexpected(
    call: GroundedCall, before: Observation, after: Observation, regions: Sequence[BoundingBox]
) -> str:
    """Returns what speaks against a step: `surprise`, or what was said on the page; else nothing.

    Args:
        call: what ran.
        before: the look before it.
        after: the look after it.
        regions: the image-space boxes that changed; empty where none did.
    """
    return surprise(call, before, after, regions) or _answered(call, before, after)


def _answered(call: GroundedCall, before: Observation, after: Observation) -> str:
    if not (call.actions and is_complete(before) and is_complete(after)):
        return ""
    pairs, come, _ = compared(list(before.elements or ()), list(after.elements or ()))
    known = {_words(element) for element in before.elements or ()}
    fresh = [new for _, new in pairs if _words(new) not in known] + come
    for element in fresh:
        if _ERROR_VALUE.fullmatch(_words(element)) and _words(element) not in known:
            name = field_text(excerpt(element.name, 40))
            where = f" “{name}”" if name and name != _words(element) else ""
            return f"“{_words(element)}” stands in {element.role}{where} now."
    dialogs = [element for element in come if element.role in DIALOGS]  # these are judged by now
    fresh = [each for each in fresh if not any(is_inside(each, dialog) for dialog in dialogs)]
    said = dict.fromkeys(_said(fresh, known))
    intent = intent_of(call).casefold()
    if len(said) > _FEW or AWAITED.search(intent):
        return ""
    typed = " ".join(action.text for action in call.actions if isinstance(action, Write))
    for words in said:
        refuses = (_REFUSING.search(words) and not _grants(words)) or _SHAPE.search(words)
        if refuses and words.casefold() not in intent and words not in typed:
            return f"“{field_text(excerpt(words, _CHARS))}” came up on the screen."
    return ""


def _said(fresh: Sequence[Element], known: set[str]) -> Iterator[str]:
    """The words that were not on the screen before, each once."""
    for element in fresh:
        spoken = element.role in _SPOKEN and element.role not in FIELDS
        field = element.role == "text" and "editable" not in element.states
        words = _words(element)
        if (spoken or field) and words not in known and any(map(str.isalpha, words)):
            yield words


def _grants(words: str) -> bool:
    """Whether something is granted, and not denied in the same breath: "not saved"."""
    return bool(_GRANTING.search(words)) and not _DENYING.search(words)


def _words(element: Element) -> str:
    return " ".join((element.text or element.name).split())
