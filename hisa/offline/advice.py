"""Advice lines, and what they say about an instruction."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hisa.offline.records import Click, GoTo, Instruction, Open, Run, Save, SaveAs, Type

__all__ = ["Advice", "read_advice"]

_WARNING = re.compile(r"\b(?:don'?t|do not|avoid|never|instead of|failed|did not work)\b", re.I)
_TOPICS: tuple[tuple[type[Instruction], re.Pattern[str]], ...] = (
    (SaveAs, re.compile(r"\bsav(?:e|es|ed|ing)\b", re.I)),
    (Save, re.compile(r"\bsav(?:e|es|ed|ing)\b", re.I)),
    (Open, re.compile(r"\b(?:open|launch|start)(?:s|ed|ing)?\b", re.I)),
    (GoTo, re.compile(r"\bcells?\b|\baddress\b", re.I)),
    (Type, re.compile(r"\b(?:typ(?:e|es|ed|ing)|fields?)\b", re.I)),
    (Click, re.compile(r"\b(?:click(?:s|ed|ing)?|menus?)\b", re.I)),
    (Run, re.compile(r"\bcommands?\b", re.I)),
)
_SHORTCUT = re.compile(r"\b(?:shortcut|keyboard|ctrl\s*\+|control\s*\+)", re.I)
_NAME_BOX = re.compile(r"\bname box\b", re.I)
_BEFORE = re.compile(r'open the ["“]([^"”]+)["”] menu before ["“]([^"”]+)["”]')
_MAX_LINES = 20


@dataclass(frozen=True)
class Advice:
    """What is known before the run, a line each."""

    lines: tuple[str, ...] = ()

    def about(self, instruction: Instruction) -> str:
        """A line that speaks of this sort of instruction, lessons before house rules, or "".

        House rules say what the result must be, lessons which way to take.
        """
        topic = next((words for sort, words in _TOPICS if isinstance(instruction, sort)), None)
        if topic is None:
            return ""
        lines = sorted(self.lines, key=lambda line: line.startswith("MUST"))
        return next((line for line in lines if topic.search(line)), "")

    @property
    def name_box(self) -> bool:
        """Whether cells are to be reached by typing their address into the name box."""
        return any(_NAME_BOX.search(line) for line in self.lines)

    def menu_before(self, entry: str) -> str:
        """The menu that a lesson says to open before an entry of that name, or ""."""
        found = (pair for line in self.lines for pair in _BEFORE.findall(line))
        return next((menu for menu, name in found if name.casefold() == entry.casefold()), "")

    def followed(self, instruction: Instruction) -> str:
        """The line by which a move for this instruction is another than without advice."""
        if isinstance(instruction, Click):
            entry = instruction.target.name.casefold()
            for line in self.lines:
                if any(name.casefold() == entry for _, name in _BEFORE.findall(line)):
                    return line
        if not isinstance(instruction, SaveAs) and self.name_box:
            return next(line for line in self.lines if _NAME_BOX.search(line))
        return self.about(instruction)

    def warns_of_shortcut(self, instruction: Instruction) -> bool:
        """Whether a line says that the keyboard shortcut is the wrong way."""
        line = self.about(instruction)
        warned = _WARNING.search(line)
        return warned is not None and _SHORTCUT.search(line, warned.start()) is not None


def read_advice(text: str) -> Advice:
    """The lines of an advice section, without bullets."""
    lines = (line.strip().lstrip("-*• ").strip() for line in text.split("\n"))
    return Advice(tuple(line[:400] for line in lines if line)[:_MAX_LINES])
