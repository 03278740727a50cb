"""What an attempt did, as facts made from its log.

A fact is what was done and what was seen of it: the call of each step with its result, the files
that the run made, the end in the agent's own words. What the agent thought is an opinion and is
left out. **The score is not among the facts**: this file reads neither it nor the task's check, so
whoever compares attempts by their facts cannot know it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hisa.events import Observed, PlannedCall
from hisa.outcomes.endings import RunStatus
from hisa.runs.manifest import FetchedFile
from hisa.runs.run_reader import Run
from hisa.runs.step_records import StepRecord
from hisa.state.token_limits import excerpt_within
from hisa.text.prompt_text import by_number, field_text, guard_fields, one_line, without_tags

__all__ = ["FULL_TEXT_BYTES", "AttemptFacts", "attempt_facts"]

_NAME_TOKENS = 120
_FILES = 8
"""Most files that are named; the others are counted."""
FULL_TEXT_BYTES = 1 << 16
"""Largest text file, in bytes, that is shown whole; of a larger one, only size and fingerprint."""


@dataclass(frozen=True)
class AttemptFacts:
    """What one attempt did."""

    run: str
    """The id of its run."""
    status: RunStatus
    """How it ended."""
    message: str
    """The agent's last message, or why the run ended without one; one line."""
    steps: tuple[str, ...]
    """One line per step, without its number."""
    files: tuple[str, ...]
    """Lines about the files that it made, and about those that were brought home or missed."""
    picture: Path | None = None
    """The last look at the screen, as a PNG; None if it is missing."""


def attempt_facts(run: Run) -> AttemptFacts:
    """Returns the facts of a run that has ended."""
    looks = (event for event in reversed(run.events) if isinstance(event, Observed))
    last = next(looks, None)
    return AttemptFacts(
        run=run.id,
        status=run.status,
        message=one_line(run.message),
        steps=tuple(_step(record) for record in run.steps if not record.interrupted),
        files=tuple(_files(run)),
        picture=None if last is None else run.image(last.image),
    )


def _step(record: StepRecord) -> str:
    """Returns ``gui_action | Description: … | Input: … | Result: …``, without the thought.

    The input is the planner's, which describes places and gives no coordinates: two attempts that
    click the same thing some pixels apart did the same.
    """
    result = record.abstracted.result if record.abstracted else "Failed. The step was not finished."
    calls = () if record.planned is None else record.planned.sequence
    fields = (
        ("Description", _join_texts([_describe_target(call) for call in calls])),
        ("Input", _join_texts([_source(call) for call in calls])),
        ("Result", field_text(result)),
    )
    tool = ("sequence" if len(calls) > 1 else calls[0].tool) if calls else "none"
    labelled_texts = [f"{label}: {text}" for label, text in fields if text]
    return " | ".join([field_text(tool)[:100], *labelled_texts])


def _join_texts(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else by_number(texts)


def _describe_target(call: PlannedCall) -> str:
    return field_text(" -> ".join(end for end in (call.description, call.description_2) if end))


def _source(call: PlannedCall) -> str:
    value = call.input
    return guard_fields(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _files(run: Run) -> Iterator[str]:
    results = run.manifest.results
    changed_files = [_name(path) for path in sorted(results.made)[:_FILES]]
    more = len(results.made) - len(changed_files)
    if more or results.more:
        changed_files.append(f"and {more}{'+' * results.more} more")
    if changed_files or results.since is not None:
        yield f"Files made or changed: {', '.join(changed_files) or 'none'}"
    yield from (_describe_file(run.folder, file) for file in results.fetched[:_FILES])
    if len(results.fetched) > _FILES:
        yield f"Brought home: {len(results.fetched) - _FILES} more files"
    yield from (f"Not brought home: {_name(text)}" for text in results.missed[:_FILES])


def _name(text: str) -> str:
    return excerpt_within(one_line(text), _NAME_TOKENS)


def _describe_file(folder: Path, file: FetchedFile) -> str:
    """Returns a line on a file brought home: size, fingerprint and, if a small text, content."""
    line = f"Brought home: {_name(file.path)}, {file.size} bytes"
    path = folder / file.place
    if path.is_symlink() or not path.is_file():
        return line
    with path.open("rb") as content_file:
        line += f", SHA-256 {hashlib.file_digest(content_file, 'sha256').hexdigest()[:12]}"
    data = path.read_bytes() if file.size <= FULL_TEXT_BYTES else b"\0"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return line
    quoted_text = json.dumps(without_tags(text), ensure_ascii=False)
    return line if "\0" in text else f"{line}, a text: {quoted_text}"
