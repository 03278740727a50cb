"""Thoughts: the plan behind an action, and behind a sequence of them (OS-Catalyst, 3.2 and D).

One sentence, in the first person and the future tense. A model writes it from the pictures, or
from words where it takes none; without a model, or where its reply is of no use, rules do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from hisa.actions import Click, Hotkey, Press, Scroll, Write
from hisa.errors import InvalidReply
from hisa.plugins.synthesis.data.atoms import Atom, alike, in_pixels
from hisa.plugins.synthesis.data.trajectories import Look
from hisa.plugins.synthesis.model_instructions import Writer, ask_writer, boxed, element_lines
from hisa.screen.observation import Element, Screenshot
from hisa.screen.roles import FIELDS
from hisa.text.prompt_text import one_line, short, untrusted
from hisa.text.prompts import render

__all__ = ["rule_thought", "seen_in_between", "write_thought"]

_TOLD = 4
"""Characters of the shortest name that only a picture can have told; shorter ones are anywhere."""
_PAGE_TEXT = frozenset({"static", "label", "section", "paragraph", "heading", "document web"})
_ROLES = {"push button": "button", "entry": "field", "text": "field"}
_NO_SENTENCE = re.compile(r"(?i:pyautogui|\w\(.*\)|```)|[.!?]\s+[A-Z]")
_QUOTABLE = re.compile(r'[^"]{1,50}(?= |"|$)')  # whole words of a name, without quotation marks
_FUTURE = re.compile(r"\bI(['\u2019]ll| will| am going to)\b|already")


class _Thought(BaseModel):
    thought: str = Field(min_length=8, max_length=600)


def rule_thought(atoms: Sequence[Atom]) -> str:
    """The plan of some atoms by rules; an element that the first look lacks is not named."""
    *clauses, last = [_clause(atom, atoms[0].before) for atom in atoms]
    return f"I will {', '.join(clauses)}{' and then ' if clauses else ''}{last}."


def seen_in_between(thought: str, instruction: str, atoms: Sequence[Atom]) -> list[str]:
    """The names in a thought that only a look in between tells; those that are typed are known."""
    typed = [atom.source for atom in atoms if atom.kind == "write"]
    known = " ".join((instruction, *typed, *_names(atoms[0].before))).casefold()
    between = {name for atom in atoms[1:] for name in _names(atom.before)}
    return sorted(name for name in between if name in thought.casefold() and name not in known)


async def write_thought(
    writer: Writer | None, instruction: str, thoughts: Sequence[str], atoms: Sequence[Atom]
) -> tuple[str, str]:
    """The thought of an atom or a merged sequence, and who wrote it: "rules" or the model's name.

    ``thoughts`` are those before a single atom, or those of the sequence's atoms. A model's that
    tells what only a look in between showed is refused.
    `BudgetExceeded` and `ModelUnavailable` come from the model; OSError, ValueError: a look is
    gone or damaged.
    """
    before, after = atoms[0].before, atoms[-1].after
    if writer is None or before is None:
        return rule_thought(atoms), "rules"
    prompt, past, target = "sequence_thought", "thoughts", None
    if len(atoms) == 1:
        prompt, past, target = "action_thought", "execution_history", atoms[0].target
    action = "\n".join((*(atom.source for atom in atoms), rule_thought(atoms)))
    texts = {"task": instruction, past: "\n".join(thoughts)[-6000:] or "None.", "action": action}
    if not writer.sees:
        texts[untrusted("elements")] = element_lines(before.elements, target)
        texts[untrusted("elements_after")] = element_lines(after.elements if after else (), None)
    pictures = [_boxed(before, target), *([after.screenshot] if after else [])]
    system = render(prompt, pictures=writer.sees)
    fields: dict[str, Any] = {"thought": {"type": "string", "maxLength": 300}}

    def fits(reply: _Thought) -> None:
        thought = one_line(reply.thought)
        if _NO_SENTENCE.search(thought) or not _FUTURE.search(thought):
            raise InvalidReply('thought: write one sentence without code: "I will …"')
        if names := seen_in_between(thought, instruction, atoms):
            raise InvalidReply(f"{names[0][:80]!r} is only seen after a part of the actions")

    try:
        reply, _ = await ask_writer(writer, system, texts, pictures, fields, _Thought, fits)
    except InvalidReply:
        return rule_thought(atoms), "rules"
    return one_line(reply.thought), writer.model.name


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


def _names(look: Look | None) -> set[str]:
    texts = [text for one in (look.elements if look else ()) for text in (one.name, one.text)]
    return {one_line(text).casefold() for text in texts if len(one_line(text)) >= _TOLD}


def _boxed(look: Look, target: Element | None) -> Screenshot:
    if target is None:
        return look.screenshot
    box = in_pixels(look, target.box)
    return boxed(look.screenshot, box.left, box.top, box.right, box.bottom)
