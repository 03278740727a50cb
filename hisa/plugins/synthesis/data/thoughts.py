"""Thoughts: the plan behind an action, and behind a sequence of them (OS-Catalyst, 3.2 and D).

One sentence, in the first person and the future tense.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hisa.actions import Click, Hotkey, Press, Scroll, Write
from hisa.plugins.synthesis.data.atoms import Atom, alike
from hisa.plugins.synthesis.data.trajectories import Look
from hisa.screen.observation import Element
from hisa.screen.roles import FIELDS
from hisa.text.prompt_text import one_line, short

__all__ = ["rule_thought"]

_PAGE_TEXT = frozenset({"static", "label", "section", "paragraph", "heading", "document web"})
_ROLES = {"push button": "button", "entry": "field", "text": "field"}
_QUOTABLE = re.compile(r'[^"]{1,50}(?= |"|$)')  # whole words of a name, without quotation marks


def rule_thought(atoms: Sequence[Atom]) -> str:
    """The plan of some atoms by rules; an element that the first look lacks is not named."""
    *clauses, last = [_clause(atom, atoms[0].before) for atom in atoms]
    return f"I will {', '.join(clauses)}{' and then ' if clauses else ''}{last}."


def _clause(atom: Atom, first: Look | None) -> str:
    """The action as a clause that follows "I will", a target named that the first look has."""
    action, target = atom.actions[-1] if atom.actions else None, atom.target
    comes_up = target is not None and not (first and alike(target, first.elements))
    words = "what comes up" if comes_up else _words(target)
    match action:
        case Click():
            verb = "double-click" if action.count > 1 else "click"
            return f"{'right-' if action.button == 'right' else ''}{verb} {words}"
        case Write():
            into = f" into {words}" if target is not None else ""
            return f'type "{short(one_line(action.text), 200)}"{into}'
        case Press() | Hotkey():
            return f"press {action.key if isinstance(action, Press) else '+'.join(action.keys)}"
        case Scroll():
            return f"scroll {'up' if action.dy > 0 else 'down' if action.dy else 'sideways'}"
    return f"{atom.kind.replace('_', ' ')} at {words}" if action else f"use the tool {atom.kind}"


def _words(element: Element | None) -> str:
    """An element in words: ``the "Submit" button``, ``the text "Select a date"``."""
    if element is None:
        return "a place on the screen"
    value = "" if element.role in FIELDS else element.text
    text = one_line(element.name or element.label or value)
    quotable = _QUOTABLE.search(text)
    quoted = quotable[0] if quotable else ""
    name = f'"{quoted.strip(" .:")}"' if quoted else ""
    if element.role in _PAGE_TEXT:
        part = "" if quoted == text else "with "
        return f"the text {part}{name}" if name else "a place on the page"
    role = _ROLES.get(element.role, element.role)
    return f"the {name} {role}" if name else f"the {role}"
