"""Thoughts: the plan behind an atom, and behind a sequence of them (OS-Catalyst, 3.2 and D).

One sentence, in the first person and the future tense. A model writes it from the pictures, or
from words where it takes none; without a model, or where its reply is of no use, rules do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from PIL import ImageDraw
from pydantic import BaseModel, Field

from hisa.actions import Click, Hotkey, Press, Scroll, Write
from hisa.errors import InvalidReply
from hisa.plugins.synthesis.data.atoms import Atom
from hisa.plugins.synthesis.data.merge_checks import in_pixels
from hisa.plugins.synthesis.data.trajectories import Look
from hisa.plugins.synthesis.model_instructions import Writer, ask_writer, element_lines
from hisa.screen.observation import Element, Screenshot
from hisa.text.prompt_text import one_line, short, untrusted
from hisa.text.prompts import render

__all__ = ["atom_thought", "rule_thought", "seen_in_between", "sequence_thought"]

_TOLD = 4
"""Characters of the shortest name that only a picture can have told; shorter ones are anywhere."""
_SET = frozenset({"checked", "selected", "pressed"})
_FUTURE = re.compile(r"\bI(['\u2019]ll| will| am going to)\b")
_NO_SENTENCE = re.compile(r"(?i:pyautogui|\w\(.*\)|```)|[.!?]\s+[A-Z]")


class _Thought(BaseModel):
    thought: Annotated[str, Field(min_length=8, max_length=600)]


def rule_thought(atoms: Sequence[Atom]) -> str:
    """The plan of some atoms by rules; an element that the first look lacks is not named."""
    target, first = atoms[0].target, atoms[0].before
    if len(atoms) == 1 and target is not None and _is_set_already(atoms[0], target):
        return f"The {_words(target)} is as it must be already, so I will leave it as it is."
    *clauses, last = [_clause(atom, first) for atom in atoms]
    return f"I will {', '.join(clauses)}{', and then ' if clauses else ''}{last}."


def seen_in_between(thought: str, instruction: str, atoms: Sequence[Atom]) -> list[str]:
    """The names in a thought that only a look in between tells; those that are typed are known."""
    first, typed = _names(atoms[0].before), [a.source for a in atoms if a.kind == "write"]
    known = " ".join((instruction, *typed, *first)).casefold()
    between = {name for atom in atoms[1:] for name in _names(atom.before)}
    return sorted(name for name in between if name in thought.casefold() and name not in known)


async def atom_thought(
    writer: Writer | None, instruction: str, earlier: Sequence[str], atom: Atom
) -> tuple[str, str]:
    """The thought of one atom, and who wrote it: "rules" or the model's name.

    Args:
        writer: None: rules.
        instruction: the task's.
        earlier: the thoughts before it.
        atom: rules write about one without a look.

    Raises:
        BudgetExceeded, ModelUnavailable: from the model.
        OSError, ValueError: a look is gone or damaged.
    """
    history = "\n".join(earlier[-20:]) or "None."
    texts = {"execution_history": history, "action": f"{atom.source}\n{_clause(atom, None)}"}
    return await _written(writer, "action_thought", {"task": instruction} | texts, [atom])


async def sequence_thought(
    writer: Writer | None, instruction: str, atoms: Sequence[Atom], thoughts: Sequence[str]
) -> tuple[str, str]:
    """The thought of a merged sequence from its first and last look and the atoms' ``thoughts``.

    A model's that tells what only a look in between showed is refused.

    Raises:
        BudgetExceeded, ModelUnavailable, OSError, ValueError: as `atom_thought`.
    """
    source = "\n".join(atom.source for atom in atoms)
    texts = {"task": instruction, "thoughts": "\n".join(thoughts), "action": source}
    return await _written(writer, "sequence_thought", texts, atoms)


async def _written(
    writer: Writer | None, prompt: str, texts: Mapping[str, str], atoms: Sequence[Atom]
) -> tuple[str, str]:
    """The model's thought; that of the rules where two replies were of no use."""
    looks, target = (atoms[0].before, atoms[-1].after), atoms[0].target
    if writer is None or looks[0] is None:
        return rule_thought(atoms), "rules"
    texts, target = dict(texts), target if len(atoms) == 1 else None
    if not writer.sees:
        for tag, look in zip(("elements", "elements_after"), looks, strict=True):
            texts[untrusted(tag)] = element_lines(look.elements, target) if look else "Not known."
    pictures = [_boxed(look, target if look is looks[0] else None) for look in looks if look]

    def usable(reply: _Thought) -> None:
        thought = one_line(reply.thought)
        if _NO_SENTENCE.search(thought):
            raise InvalidReply("thought: write one sentence, without code")
        if not _FUTURE.search(thought) and "already" not in thought:
            raise InvalidReply('thought: write in the first person and future tense: "I will …"')
        if names := seen_in_between(thought, texts["task"], atoms):
            raise InvalidReply(f"{names[0][:80]!r} is only seen after a part of the actions")

    system = render(prompt, pictures=writer.sees)
    fields: dict[str, Any] = {"thought": {"type": "string", "maxLength": 300}}
    try:
        reply, _ = await ask_writer(writer, system, texts, pictures, fields, _Thought, usable)
    except InvalidReply:
        return rule_thought(atoms), "rules"
    return one_line(reply.thought), writer.model.name


def _clause(atom: Atom, look: Look | None) -> str:
    """The action as a clause that follows "I will", its target named where a look has it."""
    action, target = atom.actions[-1] if atom.actions else None, atom.target
    if target is not None and look is not None and look is not atom.before:
        named = {(one.role, one.name) for one in look.elements}
        target = target if (target.role, target.name) in named else None
    words = f"the {_words(target)}" if target is not None else "its place"
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


def _is_set_already(atom: Atom, target: Element) -> bool:
    """Whether the default is right: the target has the text or state that the atom gives it."""
    action = atom.actions[-1]
    if isinstance(action, Write):
        return bool(action.text) and target.text == action.text
    same = [one for one in atom.after.elements if one.box == target.box] if atom.after else []
    states = {one.states & _SET for one in same if one.role == target.role}
    return (
        isinstance(action, Click) and bool(target.states & _SET) and target.states & _SET in states
    )


def _words(element: Element) -> str:
    """An element in words: ``"Submit" button``."""
    name = one_line(element.name or element.label or element.text)
    kinds = {"push button": "button", "entry": "field", "text": "field"}
    role = kinds.get(element.role, element.role)
    return f'"{short(name, 60)}" {role}' if name else role


def _names(look: Look | None) -> set[str]:
    texts = [text for one in (look.elements if look else ()) for text in (one.name, one.text)]
    return {plain for text in texts if len(plain := one_line(text).casefold()) >= _TOLD}


def _boxed(look: Look, target: Element | None) -> Screenshot:
    """A look's picture, with a red box around an element."""
    pixels = look.screenshot.pixels.copy()
    if target is not None:
        box = in_pixels(look, target.box)
        around = (box.left - 2, box.top - 2, box.right + 2, box.bottom + 2)
        ImageDraw.Draw(pixels).rectangle(around, outline=(255, 0, 0), width=3)
    return Screenshot(pixels)
