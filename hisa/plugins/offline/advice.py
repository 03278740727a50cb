"""Advice lines, and what they say about an instruction."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from hisa.plugins.offline.instruction_records import Click, Instruction, Tick, Type
from hisa.plugins.offline.things import address, meaning

__all__ = ["Advice", "read_advice"]

_NAME_BOX = re.compile(r"\bname box\b", re.I)
_BEFORE = re.compile(r'open the ["“]([^"”]+)["”] menu before ["“]([^"”]+)["”]')
_MAX_LINES = 20


@dataclass(frozen=True)
class Advice:
    """What is known before the run, a line each."""

    lines: tuple[str, ...] = ()

    @property
    def name_box(self) -> bool:
        """Whether cells are to be reached by typing their address into the name box."""
        return bool(self._first(_NAME_BOX.search))

    def menu_before(self, entry: str) -> str:
        """The menu that a lesson says to open before an entry of that name, or ""."""
        return next(filter(None, (_menu(line, entry) for line in self.lines)), "")

    def followed(self, instruction: Instruction) -> str:
        """The line by which a move for this instruction is another than without advice."""
        match instruction:
            case Click(target) | Tick(target) | Type(_, target) if not address(target):
                entry = meaning(target).name
                return self._first(lambda line: _menu(line, entry))
            case _:
                return self._first(_NAME_BOX.search)

    def _first(self, fits: Callable[[str], object]) -> str:
        return next((line for line in self.lines if fits(line)), "")


def _menu(line: str, entry: str) -> str:
    pairs = _BEFORE.findall(line)
    return next((menu for menu, name in pairs if name.casefold() == entry.casefold()), "")


def read_advice(text: str) -> Advice:
    """The lines of an advice section, without bullets."""
    lines = (line.strip().lstrip("-*• ").strip() for line in text.split("\n"))
    return Advice(tuple(line[:400] for line in lines if line)[:_MAX_LINES])
