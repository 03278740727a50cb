"""Reads instructions in plain English into typed records.

A sentence without a known verb is not an instruction: it is a remark, or it cannot be followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

from hisa.plugins.offline.clauses import Clause, split_clauses
from hisa.plugins.offline.instruction_records import Instruction
from hisa.plugins.offline.quotes import Masked, mask
from hisa.plugins.offline.verbs import read_clause

__all__ = ["MAX_INSTRUCTIONS", "Script", "read_script"]

MAX_INSTRUCTIONS = 500
"""Most instructions of a task: nobody writes more by hand, and each costs at least one step."""
MAX_TASK = 2_000_000
"""Most characters of a task that are read."""


@dataclass(frozen=True)
class Script:
    """A task read into instructions.

    ``unread`` holds sentences that ask for something but were not understood; a task that has one
    cannot be done. ``ignored`` holds remarks, which ask for nothing.
    """

    instructions: tuple[Instruction, ...]
    unread: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass
class _Draft:
    instructions: list[Instruction] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    def set_aside(self, text: str, *, remark: bool) -> None:
        texts = self.ignored if remark else self.unread
        if len(texts) < 20:
            texts.append(" ".join(text.split())[:200])


@lru_cache(maxsize=16)
def read_script(task: str) -> Script:
    """Reads all instructions of a task, in order. This is a pure function of the text."""
    masked = mask(task[:MAX_TASK])
    draft = _Draft()
    for _, clauses in groupby(split_clauses(masked), key=lambda clause: clause.item):
        _read_item(draft, tuple(clauses), masked)
        if len(draft.instructions) > MAX_INSTRUCTIONS:
            break
    return Script(tuple(draft.instructions), tuple(draft.unread), tuple(draft.ignored))


def _read_item(draft: _Draft, clauses: Sequence[Clause], masked: Masked) -> None:
    """Reads one item of a numbered list, or the prose between two.

    A remark in an item without an instruction counts as not understood.
    """
    before = len(draft.instructions)
    remarks = []
    for clause in clauses:
        text = masked.plain(clause.text)
        if clause.remark:
            remarks.append(text)
        elif instructions := read_clause(clause.text, masked):
            draft.instructions.extend(instructions)
        else:
            draft.set_aside(text, remark=False)
    has_step = len(draft.instructions) > before
    for text in remarks:
        draft.set_aside(text, remark=has_step or not clauses[0].item)
