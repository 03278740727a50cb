"""Thoughts: the plan behind an atom, and behind a sequence of them (OS-Catalyst, 3.2 and D).

One sentence, in the first person and the future tense. A model writes it from the pictures, or
from words where it takes none; without a model, or where its reply is of no use, rules do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from PIL import ImageDraw
from pydantic import BaseModel, Field

from hisa.actions import Click, Drag, Hotkey, Press, Scroll, Write, points
from hisa.errors import InvalidReply
from hisa.plugins.synthesis.data.atoms import Atom
from hisa.plugins.synthesis.data.trajectories import Look
from hisa.plugins.synthesis.model_instructions import Writer, ask_writer, element_lines
from hisa.screen.geometry import convert_box
from hisa.screen.observation import Element, Screenshot
from hisa.text.prompt_text import one_line, short, untrusted
from hisa.text.prompts import render

__all__ = ["atom_thought", "rule_sequence_thought", "rule_thought", "seen_in_between"]
__all__ += ["sequence_thought"]

RULES: Final = "rules"
_LONGEST = 600
_TOLD = 4
"""Characters of the shortest name that counts as told by a picture; shorter ones are in any text."""
_SET = frozenset({"checked", "selected", "pressed"})
_FUTURE = re.compile(r"\bI(['\N{RIGHT SINGLE QUOTATION MARK}]ll\b| will\b| am going to\b)")
_CODE = re.compile(r"(?i)pyautogui|\w\(.*\)|_COORD|```")
_SENTENCE = re.compile(r"[.!?]\s+[A-Z]")


class _Thought(BaseModel):
    thought: Annotated[str, Field(min_length=8, max_length=_LONGEST)]


def rule_thought(atom: Atom) -> str:
    """The plan of one atom, by rules."""
    if _is_set_already(atom):
        return f"The {_words(atom.target)} is as it must be already, so I will leave it as it is."
    return f"I will {_clause(atom)}."


def rule_sequence_thought(atoms: Sequence[Atom]) -> str:
    """The plan of a sequence, by rules: an element that the first look lacks is not named."""
    first = atoms[0].before
    clauses = [_clause(atom, first) for atom in atoms]
    last = clauses.pop()
    return f"I will {', '.join(clauses)}, and then {last}." if clauses else rule_thought(atoms[0])


def seen_in_between(thought: str, instruction: str, atoms: Sequence[Atom]) -> list[str]:
    """The names in a thought that only a look in between tells; those that are typed are known."""
    typed = " ".join(a.text for atom in atoms for a in atom.actions if isinstance(a, Write))
    first = _names(atoms[0].before)
    between = {name for atom in atoms[1:] for name in _names(atom.before)} - first
    known = " ".join((instruction, typed, *first)).casefold()
    plain = thought.casefold()
    return sorted(name for name in between if name in plain and name not in known)


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
    if writer is None or atom.before is None:
        return rule_thought(atom), RULES
    texts = {
        "task": instruction,
        "execution_history": "\n".join(earlier[-20:]) or "None.",
        "action": f"{atom.source}\n{_clause(atom)}",
    }
    looks, system = [atom.before, atom.after], render("action_thought", pictures=writer.sees)
    written = await _written(writer, system, texts, looks, atom.target, lambda _: None)
    return (written, writer.model.name) if written else (rule_thought(atom), RULES)


async def sequence_thought(
    writer: Writer | None, instruction: str, atoms: Sequence[Atom], thoughts: Sequence[str]
) -> tuple[str, str]:
    """One thought for a merged sequence, from its first and its last look and the old thoughts.

    Args:
        writer: None: rules.
        instruction: the task's.
        atoms: of the sequence.
        thoughts: theirs, in order.

    Raises:
        BudgetExceeded, ModelUnavailable: from the model.
        OSError, ValueError: a look is gone or damaged.
    """
    if len(atoms) == 1:
        return thoughts[0], RULES if writer is None else writer.model.name
    if writer is None:
        return rule_sequence_thought(atoms), RULES

    def fits(thought: str) -> None:
        if names := seen_in_between(thought, instruction, atoms):
            raise InvalidReply(f"{names[0][:80]!r} is only seen after a part of the actions")

    texts = {"task": instruction, "thoughts": "\n".join(thoughts)}
    texts["action"] = "\n".join(atom.source for atom in atoms)
    looks, system = (
        [atoms[0].before, atoms[-1].after],
        render("sequence_thought", pictures=writer.sees),
    )
    written = await _written(writer, system, texts, looks, None, fits)
    return (written, writer.model.name) if written else (rule_sequence_thought(atoms), RULES)


async def _written(
    writer: Writer, system: str, texts: Mapping[str, str], looks: Sequence[Look | None],
    target: Element | None, fits: Callable[[str], None],
) -> str:  # fmt: skip
    """The model's thought; empty where two replies were of no use."""
    texts = dict(texts)
    if not writer.sees:
        for tag, look in zip(("elements", "elements_after"), looks, strict=True):
            lines = element_lines(look.elements, target) if look is not None else ""
            texts[untrusted(tag)] = lines or "Not known."
    pictures = [_boxed(look, target if at == 0 else None) for at, look in enumerate(looks) if look]
    properties: dict[str, Any] = {"thought": {"type": "string", "maxLength": 300}}

    def usable(reply: _Thought) -> None:
        thought = one_line(reply.thought)
        if _SENTENCE.search(thought) or _CODE.search(thought):
            raise InvalidReply("thought: write one sentence, without code")
        if not _FUTURE.search(thought) and "already" not in thought:
            raise InvalidReply('thought: write in the first person and future tense: "I will …"')
        fits(thought)

    try:
        reply, _ = await ask_writer(writer, system, texts, pictures, properties, _Thought, usable)
    except InvalidReply:
        return ""
    return one_line(reply.thought)


def _clause(atom: Atom, look: Look | None = None) -> str:
    """The action as a clause that follows "I will"; ``look`` is the one that its words are from."""
    action = atom.actions[-1] if atom.actions else None
    target = atom.target
    if look is not None and look is not atom.before and not _known(target, look):
        target = None
    words = f"the {_words(target)}" if target is not None else "the place that I mean"
    match action:
        case Click():
            verb = "double-click" if action.count > 1 else "click"
            return f"{'right-' if action.button == 'right' else ''}{verb} {words}"
        case Write():
            into = f" into {words}" if target is not None else ""
            return f'type "{short(one_line(action.text), 200)}"{into}'
        case Press() | Hotkey():
            keys = (action.key,) if isinstance(action, Press) else action.keys
            return f"press {'+'.join(keys)}"
        case Scroll():
            side = ("up" if action.dy > 0 else "down") if action.dy else "sideways"
            return f"scroll {side} over {words}" if points(atom.actions) else f"scroll {side}"
        case Drag():
            return f"drag to {words}"
        case None:
            return f"use the tool {atom.kind}"
        case _:
            return f"do the {atom.kind}"


def _is_set_already(atom: Atom) -> bool:
    """Whether the default is right: the target has the state or the text that the atom gives it."""
    target, after = atom.target, atom.after
    if target is None or after is None or not atom.actions:
        return False
    action = atom.actions[-1]
    if isinstance(action, Write):
        return bool(action.text) and target.text == action.text
    same = [one for one in after.elements if (one.role, one.box) == (target.role, target.box)]
    return isinstance(action, Click) and bool(
        target.states & _SET and any(one.states & _SET == target.states & _SET for one in same)
    )


def _words(element: Element | None) -> str:
    """An element in words: ``"Submit" button``."""
    if element is None:
        return "element"
    name = one_line(element.name or element.label or element.text)
    role = {"push button": "button", "entry": "field", "text": "field"}.get(element.role)
    return f'"{short(name, 60)}" {role or element.role}' if name else role or element.role


def _known(target: Element | None, look: Look) -> bool:
    return target is not None and any(
        (one.role, one.name) == (target.role, target.name) for one in look.elements
    )


def _names(look: Look | None) -> set[str]:
    def names() -> Iterator[str]:
        for one in look.elements if look is not None else ():
            yield from (one.name, one.text, one.label)

    plain = (one_line(name).casefold() for name in names())
    return {name for name in plain if len(name) >= _TOLD}


def _boxed(look: Look, target: Element | None) -> Screenshot:
    """A look's picture, with a red box around an element."""
    picture = look.screenshot
    if target is None:
        return picture
    pixels = picture.pixels.copy()
    box = convert_box(target.box, "image", screen=look.size, image=picture.size)
    around = (box.left - 2, box.top - 2, box.right + 2, box.bottom + 2)
    ImageDraw.Draw(pixels).rectangle(around, outline=(255, 0, 0), width=3)
    return Screenshot(pixels)
