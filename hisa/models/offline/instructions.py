"""Instructions in plain English, read into typed records.

What is read: open, click, type, press, select, tick, scroll, drag, wait, save, run, close, go to.
A sentence without a known verb is no instruction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from hisa.models.offline.clauses import Clause, split_clauses
from hisa.models.offline.quotes import mask
from hisa.models.offline.records import Instruction
from hisa.models.offline.verbs import read_clause

__all__ = ["MAX_INSTRUCTIONS", "Script", "read_script"]

MAX_INSTRUCTIONS = 500
"""More are refused: nobody writes so many by hand, and each costs at least one step."""
MAX_TASK = 2_000_000
"""Characters of a task that are read at all."""


@dataclass(frozen=True)
class Script:
    """A task read into instructions.

    ``unread`` holds items of a numbered list that were not understood: they are steps, and a task
    with one of them cannot be done. ``ignored`` holds other sentences without a known verb.
    """

    instructions: tuple[Instruction, ...]
    unread: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass
class _Draft:
    instructions: list[Instruction] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


@lru_cache(maxsize=16)
def read_script(task: str) -> Script:
    """Every instruction of a task, in order. A pure function of the text."""
    masked = mask(task[:MAX_TASK])
    draft = _Draft()
    for clause in split_clauses(masked):
        found = read_clause(clause.text, masked)
        if found:
            draft.instructions.extend(found)
        else:
            _set_aside(draft, clause, masked.plain(clause.text))
        if len(draft.instructions) > MAX_INSTRUCTIONS:
            break
    return Script(tuple(draft.instructions), tuple(draft.unread), tuple(draft.ignored))


def _set_aside(draft: _Draft, clause: Clause, text: str) -> None:
    kept = draft.unread if clause.numbered else draft.ignored
    if len(kept) < 20:
        kept.append(" ".join(text.split())[:200])
