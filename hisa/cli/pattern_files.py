"""Patterns from a person, and in and out of a store as JSON Lines: import and export.

One object a line: ``{"v": 1, "pattern": {…}}``. Nothing is written before every line is checked,
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
"""Of a count, and of a moment in seconds since 1970; chosen by hand."""
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}"
_NAMES = {
    "id": _NAME,
    "domain": DOMAIN.pattern,
    "source_run": r"([A-Za-z0-9_][A-Za-z0-9_.:-]{0,199})?",
    "embedder": r"[A-Za-z0-9_:./@-]{0,200}",
    "superseded_by": rf"({_NAME})?",
}
"""What the names of a pattern look like."""
_TEXTS = ("lesson", "condition", "actions", "expected")


def build_pattern(lesson: str, *, domain: str, condition: str, **more: Any) -> Pattern:
    """A new pattern of these texts, written by a person.

    Raises:
        UsageError: a text is too long or begins like a rule, the lesson is empty, or the domain is
            none.
    """
    for name, text in {"lesson": lesson, "condition": condition}.items():
        if len(text) > LESSON_CHARS:
            raise UsageError(f"{name}: {len(text)} characters; at most {LESSON_CHARS}")
        if unbinding(text) != text:
            raise UsageError(
                f'{name}: "MUST" marks rules, and a lesson never binds',
                fix="put rules into a file of the folder patterns.sops",
            )
    if not clean(lesson):
        raise UsageError("lesson: empty; say what to do or what to avoid")
    if not DOMAIN.fullmatch(domain):
        raise UsageError(f"domain {domain!r}: want lower-case letters, digits and _")
    return Pattern(
        id=new_id(),
        domain=domain,
        lesson=clean(lesson),
        condition=clean(condition),
        created_at=time.time(),
        **more,
    )


def export_lines(store: VectorStore, domain: str | None = None) -> Iterator[str]:
    """Every pattern, whatever its status, a line each without its end; oldest first.

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
    """The pattern, whose texts bind nobody, as HiSA itself could have written it.

    Raises:
        ValueError: a name or a number that it could not have written.
    """
    for name, form in _NAMES.items():
        if not re.fullmatch(form, getattr(pattern, name)):
            raise ValueError(f"{name}: not one that HiSA gives")
    if not 0 <= pattern.wins <= pattern.scored <= pattern.uses <= _MOST:
        raise ValueError("wins, scored and uses: want none above the next")
    if not (0 <= pattern.confirmed <= _MOST and 0 <= pattern.created_at <= _LATEST):
        raise ValueError("confirmed or created_at: not a number that HiSA gives")
    others = tuple(clean(unbinding(text)) for text in pattern.other_conditions)
    texts: dict[str, Any] = {name: clean(unbinding(getattr(pattern, name))) for name in _TEXTS}
    if not texts["lesson"] or len(others) >= CONDITIONS:
        raise ValueError(f"want a lesson, and at most {CONDITIONS} conditions")
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
    return UsageError(f"{name}:{number}: {message}", fix="mend that line; nothing was imported")


def _read_all(lines: Iterable[str], name: str) -> dict[str, Pattern]:
    patterns: dict[str, Pattern] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        pattern = _read(number, line, name)
        if pattern.id in patterns:
            raise _bad(number, name, f"the id {pattern.id!r} comes twice")
        patterns[pattern.id] = pattern
    return patterns


def _embed_patterns(patterns: Iterable[Pattern], embedder: Embedder) -> Iterator[Item]:
    """Patterns with fresh vectors, and the name of who made them."""
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
    """Add the patterns of an export, those with a known id replaced; all of them or none.

    Args:
        store: where to.
        lines: of the file.
        embedder: the one that filled the store.
        name: the file, as named in errors.

    Returns:
        How many were added, and how many were replaced.

    Raises:
        UsageError: a line is wrong; it is named and nothing was written.
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
