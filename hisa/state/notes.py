"""The planner's notes for later, kept word for word until it replaces or drops them.

A model rewrites summaries, and lines are cut; notes are neither rewritten nor cut. They depend
only on the replies of a run, so a resumed run has them again from the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hisa.models.tokens import estimate_tokens
from hisa.text.prompt_text import clean

__all__ = ["NOTE_TOKENS", "Notes", "take_notes"]

NOTE_TOKENS = 300
"""Most tokens of all notes together. `benchmarks.recall` has runs with twelve facts to note; its
longest notes take 240."""
_NAME = 60
"""Most characters of a note's name; a longer text before a colon is a sentence."""


@dataclass(frozen=True)
class Notes:
    """The notes, one per line, and why the newest one was refused (empty: it was taken)."""

    lines: tuple[str, ...] = ()
    refused: str = ""

    def take(self, note: str | None) -> Notes:
        """Returns the notes after the note of one more reply.

        None leaves the notes as they are, and an empty text drops all. A line ``name: value``
        replaces the note of the same name, ``name:`` drops it, and any other line is added. If
        there is no room for the new note, it is refused and the old notes stay.
        """
        if note is None:
            return Notes(self.lines)
        lines: tuple[str, ...] = self.lines if note.strip() else ()
        for line in clean(note).splitlines():
            name, value = _parts(line)
            lines = tuple(other for other in lines if other != line and _parts(other)[0] != name)
            lines = (*lines, line) if value else lines
        tokens = estimate_tokens("\n".join(lines))
        if tokens > NOTE_TOKENS:
            return Notes(
                self.lines,
                f"Your last note was not kept: with it notes would take {tokens} tokens of "
                f'{NOTE_TOKENS}. Write less, or drop what you need no more by "name:".',
            )
        return Notes(lines)

    @property
    def text(self) -> str:
        """The notes as a section of the prompt."""
        return "\n".join(self.lines)


def _parts(line: str) -> tuple[str, str]:
    """Returns the name of a note in lower case, and its value; a sentence is its own name."""
    name, colon, value = f"{line} ".partition(": ")
    if not colon or len(name) > _NAME:
        return line.casefold(), line
    return name.strip().casefold(), value.strip()


def take_notes(notes: Iterable[str | None]) -> Notes:
    """Returns the notes that a run has after all its replies, given in order."""
    taken = Notes()
    for note in notes:
        taken = taken.take(note)
    return taken
