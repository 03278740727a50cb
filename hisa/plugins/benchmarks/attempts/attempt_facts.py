"""What an attempt did, as facts: made from its log, and the same for the same log.

A fact is what was done and what was seen of it: the call of each step with its result, the files
that the run made, the end in the agent's own words. All of it is whole: what tells two attempts
apart may stand in the middle of a long text, so they are shortened side by side where they are
shown. What the agent thought is an opinion and left out. **The score is no fact here**: nothing of
it, nor of the task's check, is read in this file, so whoever compares attempts by their facts
cannot know it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hisa.events import Observed, PlannedCall
from hisa.outcomes.endings import RunStatus
from hisa.runs.manifest import FetchedFile
from hisa.runs.read import Run
from hisa.runs.step_records import StepRecord
from hisa.state.token_limits import excerpt_within
from hisa.text.prompt_text import by_number, field_text, guard_fields, one_line, without_tags

__all__ = ["WHOLE_BYTES", "AttemptFacts", "attempt_facts"]

_MISSED_TOKENS = 120
_NAME_TOKENS = 32
_FILES = 8
"""Files that are named; the others are counted."""
WHOLE_BYTES = 1 << 16
"""Bytes of a text that is told whole; of a larger file only size and fingerprint are."""


@dataclass(frozen=True)
class AttemptFacts:
    """What one attempt did."""

    run: str
    """The id of its run."""
    status: RunStatus
    """How it ended."""
    message: str
    """The last word of the agent, or why the run ended without one; one line."""
    steps: tuple[str, ...]
    """One line a step, without its number."""
    files: tuple[str, ...]
    """Lines on the files that it made, and on those that were brought home or missed."""
    picture: Path | None = None
    """The last look at the screen, as a PNG; None where it is missing."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything that is told and shown of it."""
        shown = self.picture.stem if self.picture else ""
        told = [self.status, self.message, self.steps, self.files, shown]
        return hashlib.sha256(json.dumps(told).encode("utf-8", "replace")).hexdigest()

    def lines(self, first: int = 0) -> list[str]:
        """The numbered lines of its steps, from index ``first`` on."""
        return [f"Step {n}: {text}" for n, text in enumerate(self.steps[first:], first + 1)]


def attempt_facts(run: Run) -> AttemptFacts:
    """Returns the facts of a run that has ended."""
    return AttemptFacts(
        run=run.id,
        status=run.status,
        message=one_line(run.message),
        steps=tuple(_step(record) for record in run.steps if not record.interrupted),
        files=tuple(_files(run)),
        picture=_last_look(run),
    )


def _step(record: StepRecord) -> str:
    """``gui_action | Description: … | Input: … | Result: …``, as a history's line without thought.

    The input is the planner's, whose places are named and not numbered: two attempts that click
    the same thing some pixels apart did the same. Of a sequence it is that of each call made.
    """
    calls = _made(record)
    result = record.abstracted.result if record.abstracted else "Failed. The step was not finished."
    fields = (
        ("Description", _numbered([_described(call) for call in calls])),
        ("Input", _numbered([_source(call) for call in calls])),
        ("Stopped", _stopped(record)),
        ("Result", field_text(result)),
    )
    tool = "none" if record.planned is None else record.planned.tool
    if record.planned is not None and record.planned.following:
        tool = "sequence"
    shown = [f"{label}: {text}" for label, text in fields if text]
    return " | ".join([field_text(tool)[:100], *shown])


def _made(record: StepRecord) -> Sequence[PlannedCall]:
    """Returns the calls of a step that were made; the first one in any case."""
    if record.planned is None:
        return ()
    calls = record.planned.sequence
    return calls if record.stopped is None else calls[: max(1, record.stopped.made)]


def _numbered(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else by_number(texts)


def _stopped(record: StepRecord) -> str:
    if record.stopped is None:
        return ""
    said = f"{record.stopped.made} of {record.stopped.of} calls made, {record.stopped.reason}"
    return field_text(said)


def _described(call: PlannedCall) -> str:
    return field_text(" -> ".join(end for end in (call.description, call.description_2) if end))


def _source(call: PlannedCall) -> str:
    value = call.input
    return guard_fields(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _files(run: Run) -> list[str]:
    results = run.manifest.results
    made = [excerpt_within(one_line(path), _NAME_TOKENS) for path in sorted(results.made)[:_FILES]]
    more = len(results.made) - len(made)
    if more > 0 or results.more:
        made.append(f"and {max(0, more)}{'+' * results.more} more")
    lines = [f"Files made or changed: {', '.join(made)}"] if made else []
    if results.since is not None and not made:
        lines.append("Files made or changed: none")
    lines += [_fetched(run.folder, file) for file in results.fetched[:_FILES]]
    if len(results.fetched) > _FILES:
        lines.append(f"Brought home: {len(results.fetched) - _FILES} more files")
    missed = [excerpt_within(one_line(text), _MISSED_TOKENS) for text in results.missed[:_FILES]]
    return lines + [f"Not brought home: {text}" for text in missed]


def _fetched(folder: Path, file: FetchedFile) -> str:
    """Size, fingerprint and, where it is a small text, all of a file that was brought home."""
    name = excerpt_within(one_line(file.path), _NAME_TOKENS)
    said = f"Brought home: {name}, {file.size} bytes"
    path = folder / file.place
    if path.is_symlink() or not path.is_file():
        return said
    with path.open("rb") as opened:
        said += f", SHA-256 {hashlib.file_digest(opened, 'sha256').hexdigest()[:12]}"
    if file.size > WHOLE_BYTES:
        return said
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return said
    if "\0" in text:
        return said
    return f"{said}, a text: {json.dumps(without_tags(text), ensure_ascii=False)}"


def _last_look(run: Run) -> Path | None:
    looks = (event for event in reversed(run.events) if isinstance(event, Observed))
    last = next(looks, None)
    return None if last is None else run.image(last.image)
