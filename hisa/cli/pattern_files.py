"""Patterns written by a person, and the import and export of patterns as JSON Lines.

One object per line: ``{"v": 1, "pattern": {…}}``. Nothing is written before every line is checked,
and then everything at once.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from hisa.errors import UsageError
from hisa.machine.storage import replace_file
from hisa.patterns.dedup import CONDITIONS
from hisa.patterns.induction import new_id
from hisa.patterns.pattern_text import DOMAIN, LESSON_CHARS, clean, retrieval_texts, unbinding
from hisa.patterns.stores.vector_store import Item, VectorStore, check_meta, to_payload
from hisa.protocols import Embedder, Pattern

__all__ = ["build_pattern", "export_lines", "import_patterns", "write_atomically"]

_BATCH = 256  # chosen by hand
_LINE_CHARS = 1_000_000  # chosen by hand
_LINES = 100_000
"""Lines of a file; all are held in memory until the last one is checked."""
_MOST, _LATEST = 10**9, 1e11
"""Largest count, and latest time in seconds since 1970; chosen by hand."""
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}"
_NAMES = {
    "id": _NAME,
    "domain": DOMAIN.pattern,
    "source_run": r"([A-Za-z0-9_][A-Za-z0-9_.:-]{0,199})?",
    "embedder": r"[A-Za-z0-9_:./@-]{0,200}",
    "superseded_by": rf"({_NAME})?",
}
"""The allowed forms of a pattern's names."""
_TEXTS = ("lesson", "condition", "actions", "expected")


def build_pattern(lesson: str, *, domain: str, condition: str, **more: Any) -> Pattern:
    """Build a new pattern from texts that a person wrote.

    Args:
        lesson: what to do or to avoid; at most `LESSON_CHARS` characters.
        domain: where it applies: lower-case letters, digits and "_".
        condition: the kind of task, as a user would ask for it; may be empty.
        more: other fields of the pattern, such as ``kind`` and ``scope``.

    Raises:
        UsageError: a text is too long or begins like a rule, the lesson is empty, or the domain
            is not a name.
    """
    for name, text in {"lesson": lesson, "condition": condition}.items():
        if len(text) > LESSON_CHARS:
            raise UsageError(f"{name}: {len(text)} characters; at most {LESSON_CHARS}")
        if unbinding(text) != text:
            raise UsageError(
                f'{name}: "MUST" marks rules, and a lesson is not a rule',
                fix="put rules into a file in the folder patterns.sops",
            )
    if not clean(lesson):
        raise UsageError("lesson: empty; say what to do or what to avoid")
    if not DOMAIN.fullmatch(domain):
        raise UsageError(f"domain {domain!r}: use lower-case letters, digits and _")
    return Pattern(
        id=new_id(),
        domain=domain,
        lesson=clean(lesson),
        condition=clean(condition),
        created_at=time.time(),
        **more,
    )


def export_lines(store: VectorStore, domain: str | None = None) -> Iterator[str]:
    """Yields a line for each pattern of any status, oldest first, without line breaks.

    Raises:
        StoreError: the store cannot be read.
    """
    patterns = store.list(domain=domain, status=None)
    for pattern in sorted(patterns, key=lambda pattern: (pattern.created_at, pattern.id)):
        yield json.dumps({"v": 1, "pattern": to_payload(pattern)}, ensure_ascii=False)


def write_atomically(file: Path, lines: list[str]) -> None:
    """Write the lines; a crash leaves the old file.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        replace_file(file, "".join(f"{line}\n" for line in lines).encode(), mode=0o644)
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}", fix="name a file in a folder that you can write"
        ) from error


# ---------------------------------------------------------------- import


class _Line(BaseModel):
    v: Literal[1]
    pattern: Pattern


def _clean_pattern(pattern: Pattern) -> Pattern:
    """Returns the pattern with texts that are no rules, as HiSA itself could have written it.

    Raises:
        ValueError: a name or a number is not one that HiSA writes.
    """
    for name, form in _NAMES.items():
        if not re.fullmatch(form, getattr(pattern, name)):
            raise ValueError(f"{name}: not a name that HiSA gives")
    if not 0 <= pattern.wins <= pattern.scored <= pattern.uses <= _MOST:
        raise ValueError("wins, scored, uses: none may be greater than the next")
    if not (0 <= pattern.confirmed <= _MOST and 0 <= pattern.created_at <= _LATEST):
        raise ValueError("confirmed or created_at: not a number that HiSA gives")
    others = tuple(clean(unbinding(text)) for text in pattern.other_conditions)
    texts: dict[str, Any] = {name: clean(unbinding(getattr(pattern, name))) for name in _TEXTS}
    if not texts["lesson"] or len(others) >= CONDITIONS:
        raise ValueError(f"must have a lesson, and at most {CONDITIONS} conditions")
    return replace(pattern, other_conditions=others, **texts)


def _read(number: int, line: str, name: str) -> Pattern:
    try:
        if number > _LINES:
            raise ValueError(f"more than {_LINES} lines")
        if len(line) > _LINE_CHARS:
            raise ValueError(f"{len(line)} characters; at most {_LINE_CHARS}")
        return _clean_pattern(_Line.model_validate_json(line).pattern)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        message = ".".join(str(part)[:60] for part in first["loc"]) + ": " + first["msg"]
        raise _bad(number, name, message.removeprefix(": ")) from error
    except ValueError as error:
        raise _bad(number, name, str(error)) from error


def _bad(number: int, name: str, message: str) -> UsageError:
    return UsageError(f"{name}:{number}: {message}", fix="fix that line; nothing was imported")


def _read_all(lines: Iterable[str], name: str) -> dict[str, Pattern]:
    patterns: dict[str, Pattern] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        pattern = _read(number, line, name)
        if pattern.id in patterns:
            raise _bad(number, name, f"duplicate id {pattern.id!r}")
        patterns[pattern.id] = pattern
    return patterns


def _embed_patterns(patterns: Iterable[Pattern], embedder: Embedder) -> Iterator[Item]:
    """Yields each pattern, marked with the embedder's name, and its fresh vectors."""
    waiting = iter(patterns)
    while page := list(islice(waiting, _BATCH)):
        texts = [text for pattern in page for text in retrieval_texts(pattern)]
        vectors = iter(embedder.embed(texts))
        for pattern in page:
            rows = list(islice(vectors, len(retrieval_texts(pattern))))
            yield replace(pattern, embedder=embedder.name), rows


def import_patterns(
    store: VectorStore, lines: Iterable[str], *, embedder: Embedder, name: str
) -> tuple[int, int]:
    """Add all patterns of an export, or none; patterns with a known id are replaced.

    Args:
        store: receives them.
        lines: lines of the file.
        embedder: the one that filled the store.
        name: the file, as errors name it.

    Returns:
        The numbers of patterns added and replaced.

    Raises:
        UsageError: a line is wrong; the error names it, and nothing was written.
        StoreError: the store cannot be written.
    """
    meta = store.meta()
    if meta is not None:
        check_meta(meta, embedder, where="the pattern store")
    patterns = _read_all(lines, name)
    items = list(_embed_patterns(patterns.values(), embedder))
    with store.session():
        replaced = len(patterns.keys() & {known.id for known in store.list(status=None)})
        if items:
            store.put_all(items)
    return len(items) - replaced, replaced
