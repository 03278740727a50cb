"""What the planner notes for later, kept as it wrote it until it replaces or drops it.

A summary is rewritten by a model and a line is cut; a note is neither. Notes are a function of the
replies of a run, so that the log alone brings them back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hisa.models.tokens import estimate_tokens
from hisa.text.prompt_text import clean

__all__ = ["NOTE_TOKENS", "Notes", "take_notes"]

NOTE_TOKENS = 300
"""Most tokens of all notes. `benchmarks.recall` has runs with twelve facts to note, and the longest
of its notes take 240."""
_NAME = 60
"""Most characters of a note's name; what is longer before a colon is a sentence."""


@dataclass(frozen=True)
class Notes:
    """The notes, one a line, and why the newest was not taken; empty: it was."""

    lines: tuple[str, ...] = ()
    refused: str = ""

    def take(self, note: str | None) -> Notes:
        """Returns the notes after a reply's note.

        None leaves them as they are, an empty text drops all. A line ``name: value`` replaces that
        of the same name, ``name:`` drops it, any other line is added. What has no room is not
        taken, and the others stay.
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
        """The section of the prompt."""
        return "\n".join(self.lines)


def _parts(line: str) -> tuple[str, str]:
    """Returns the name of a note in small letters, and its value; a sentence is its own name."""
    name, colon, value = f"{line} ".partition(": ")
    if not colon or len(name) > _NAME:
        return line.casefold(), line
    return name.strip().casefold(), value.strip()


def take_notes(notes: Iterable[str | None]) -> Notes:
    """Returns what the notes of a run's replies, in their order, come to."""
    taken = Notes()
    for note in notes:
        taken = taken.take(note)
    return taken
