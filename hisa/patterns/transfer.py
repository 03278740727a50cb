"""Patterns in and out of a store as JSON Lines: export, import, re-embedding.

One object a line: ``{"v": 1, "pattern": {…}, "vector": […]}``; ``vector`` may be left out. A line
is used with its vector only where its pattern names the store's embedder. Nothing is written
before every line is checked, and then everything at once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hisa.errors import StoreError, UsageError
from hisa.patterns.stores.base import Item, VectorStore, check_meta, to_payload
from hisa.patterns.text import clean, retrieval_text
from hisa.patterns.vectors import unit
from hisa.protocols import Embedder, Pattern

__all__ = ["export_lines", "import_patterns", "reembed", "write_atomically"]

_BATCH = 256
_LINE_CHARS = 1_000_000
_pattern: TypeAdapter[Pattern] = TypeAdapter(Pattern)


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")
    v: int = Field(ge=1, le=1)
    pattern: dict[str, Any]
    vector: list[float] | None = None


def export_lines(store: VectorStore, *, vectors: bool, domain: str | None) -> Iterator[str]:
    """Every pattern, whatever its status, a line each without its end; oldest first.

    Raises:
        StoreError: the store cannot be read.
    """
    items = [item for item in store.items() if domain in (None, item[0].domain)]
    for pattern, vector in sorted(items, key=lambda item: (item[0].created_at, item[0].id)):
        line = _Line(v=1, pattern=to_payload(pattern), vector=vector if vectors else None)
        yield line.model_dump_json(exclude_none=True)


def write_atomically(file: Path, lines: Iterable[str]) -> int:
    """Write the lines; a crash leaves the old file. Returns their number.

    Raises:
        UsageError: the file cannot be written.
    """
    new, count = file.with_name(f"{file.name}.new"), 0
    try:
        with new.open("w", encoding="utf-8") as out:
            for line in lines:
                out.write(f"{line}\n")
                count += 1
        os.replace(new, file)
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}", fix="name a file in a folder that you can write"
        ) from error
    return count


# ---------------------------------------------------------------- import


def _bounded(raw: dict[str, Any]) -> Pattern:
    """A pattern of a file: known fields only, texts cleaned and bounded.

    Raises:
        ValueError: what is wrong.
    """
    unknown = sorted(set(raw) - set(Pattern.__dataclass_fields__))
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}")
    pattern = _pattern.validate_python(raw)
    pattern = replace(
        pattern,
        lesson=clean(pattern.lesson),
        condition=clean(pattern.condition),
        actions=clean(pattern.actions),
        expected=clean(pattern.expected),
    )
    for name in ("id", "domain", "source_run", "embedder", "superseded_by"):
        value = getattr(pattern, name)
        if clean(value) != value or (name in ("id", "domain") and not value):
            raise ValueError(f"{name} = {value[:60]!r}: want a short text in one line")
    if not pattern.lesson:
        raise ValueError("lesson is empty")
    if not math.isfinite(pattern.created_at) or min(pattern.uses, pattern.wins) < 0:
        raise ValueError("created_at, uses and wins: want numbers from 0")
    return pattern


def _read(number: int, line: str, name: str) -> tuple[Pattern, list[float] | None]:
    try:
        if len(line) > _LINE_CHARS:
            raise ValueError(f"{len(line)} characters; at most {_LINE_CHARS}")
        parsed = _Line.model_validate_json(line)
        return _bounded(parsed.pattern), parsed.vector
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        message = ".".join(str(part) for part in first["loc"]) + ": " + first["msg"]
        raise _bad(number, name, message.removeprefix(": ")) from error
    except ValueError as error:
        raise _bad(number, name, str(error)) from error


def _bad(number: int, name: str, message: str) -> UsageError:
    return UsageError(f"{name}:{number}: {message}", fix="mend that line; nothing was imported")


def _read_all(
    lines: Iterable[str], name: str, embedder: Embedder
) -> dict[str, tuple[Pattern, list[float] | None]]:
    found: dict[str, tuple[Pattern, list[float] | None]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        pattern, vector = _read(number, line, name)
        if pattern.id in found:
            raise _bad(number, name, f"the id {pattern.id!r} comes twice")
        if vector is not None and pattern.embedder == embedder.name:
            if len(vector) != embedder.dimension:
                message = f"a vector of {len(vector)} numbers, not {embedder.dimension}"
                raise _bad(number, name, message)
            try:
                found[pattern.id] = pattern, unit(vector)
            except StoreError as error:
                raise _bad(number, name, str(error)) from error
        else:
            found[pattern.id] = pattern, None
    return found


def _embedded(patterns: Iterable[Pattern], embedder: Embedder) -> Iterator[Item]:
    """Patterns with fresh vectors, and the name of who made them."""
    waiting = iter(patterns)
    while page := list(islice(waiting, _BATCH)):
        vectors = embedder.embed([retrieval_text(pattern) for pattern in page])
        for pattern, vector in zip(page, vectors, strict=True):
            yield replace(pattern, embedder=embedder.name), vector


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
    read = _read_all(lines, name, embedder)
    fresh = _embedded((pattern for pattern, vector in read.values() if vector is None), embedder)
    ready = {pattern.id: (pattern, vector) for pattern, vector in fresh}
    for key, (pattern, vector) in read.items():
        if vector is not None:
            ready[key] = pattern, vector
    with store.session():
        kept = {pattern.id: (pattern, vector) for pattern, vector in store.items()}
        replaced = len(kept.keys() & ready.keys())
        if ready:
            store.rebuild((kept | ready).values(), embedder)
    return len(ready) - replaced, replaced


def reembed(store: VectorStore, embedder: Embedder) -> int:
    """Give every pattern a vector of ``embedder``, all at once; returns their number.

    Raises:
        StoreError: the store cannot be read or written.
    """
    with store.session():
        patterns: Sequence[Pattern] = [pattern for pattern, _ in store.items()]
        return store.rebuild(_embedded(patterns, embedder), embedder)
