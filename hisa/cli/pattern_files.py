"""Patterns from a person, and in and out of a store as JSON Lines: import and export.

One object a line: ``{"v": 1, "pattern": {…}, "vectors": [[…]]}``; ``vectors`` may be left out. A
line is used with its vectors only where its pattern names the store's embedder. Nothing is written
before every line is checked, and then everything at once.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hisa.errors import StoreError, UsageError
from hisa.machine.storage import replace_file
from hisa.patterns.dedup import CONDITIONS
from hisa.patterns.induction import new_id
from hisa.patterns.pattern_text import DOMAIN, LESSON_CHARS, clean, retrieval_texts, unbinding
from hisa.patterns.stores.base import Item, Vectors, check_meta, to_payload
from hisa.patterns.stores.vector_store import VectorStore
from hisa.patterns.vectors import unit
from hisa.protocols import Embedder, Pattern, Scope

__all__ = [
    "export_lines",
    "import_patterns",
    "reembed",
    "write_atomically",
    "written",
]

_BATCH = 256  # chosen by hand
_LINE_CHARS = 1_000_000  # chosen by hand
_LINES = 100_000
"""Lines of a file; all are held in memory until the last one is checked."""
_MOST = 10**9  # chosen by hand
_ID = re.compile(r"\w[\w-]{0,63}", re.ASCII)
_RUN = re.compile(r"(?:\w[\w.:-]{0,199})?", re.ASCII)
_EMBEDDER = re.compile(r"(?:[\w:./@-]{1,200})?", re.ASCII)
_pattern: TypeAdapter[Pattern] = TypeAdapter(Pattern)
_CHOICES = {"kind": ("success", "failure"), "scope": get_args(Scope)}


def written(
    lesson: str, *, domain: str, kind: str, condition: str, actions: str, expected: str, scope: str
) -> Pattern:
    """A new pattern of these texts, written by a person.

    Raises:
        UsageError: a text is too long or begins like a rule, the lesson is empty, or the domain,
            kind or scope is none.
    """
    texts = {"lesson": lesson, "condition": condition, "actions": actions, "expected": expected}
    for name, text in texts.items():
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
    chosen = {"kind": kind, "scope": scope}
    for name, value in chosen.items():
        if value not in _CHOICES[name]:
            raise UsageError(f"{name} {value!r}: choose one of {', '.join(_CHOICES[name])}")
    made = {"id": new_id(), "domain": domain, "created_at": time.time(), **chosen}
    return _pattern.validate_python(made | {name: clean(text) for name, text in texts.items()})


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")
    v: Literal[1]
    pattern: dict[str, Any]
    vectors: list[list[float]] | None = Field(None, min_length=1, max_length=CONDITIONS)


def export_lines(store: VectorStore, *, vectors: bool, domain: str | None) -> Iterator[str]:
    """Every pattern, whatever its status, a line each without its end; oldest first.

    Raises:
        StoreError: the store cannot be read.
    """
    items = [item for item in store.items() if domain in (None, item[0].domain)]
    for pattern, rows in sorted(items, key=lambda item: (item[0].created_at, item[0].id)):
        line = _Line(v=1, pattern=to_payload(pattern), vectors=rows if vectors else None)
        yield line.model_dump_json(exclude_none=True)


def write_atomically(file: Path, lines: Iterable[str]) -> int:
    """Write the lines; a crash leaves the old file. Returns their number.

    Raises:
        UsageError: the file cannot be written.
    """
    count = 0

    def encoded() -> Iterator[bytes]:
        nonlocal count
        for count, line in enumerate(lines, 1):  # noqa: B007 - counted for the caller
            yield f"{line}\n".encode()

    try:
        replace_file(file, encoded(), mode=0o644)
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}", fix="name a file in a folder that you can write"
        ) from error
    return count


# ---------------------------------------------------------------- import


def _checked(raw: dict[str, Any]) -> Pattern:
    """A pattern of a file, every field of which is what HiSA itself could have written.

    Raises:
        ValueError: what is wrong.
    """
    unknown = sorted(set(raw) - set(Pattern.__dataclass_fields__))
    if unknown:
        raise ValueError(f"unknown field {unknown[0][:60]!r}")
    pattern = _pattern.validate_python(raw)
    for name in ("lesson", "condition", "actions", "expected"):
        _check_text(name, getattr(pattern, name))
    for condition in pattern.other_conditions:
        _check_text("other_conditions", condition)
    if not pattern.lesson:
        raise ValueError("lesson is empty")
    if len(pattern.conditions) > CONDITIONS:
        raise ValueError(f"{len(pattern.conditions)} conditions; at most {CONDITIONS}")
    _check_names(pattern)
    _check_counts(pattern)
    return replace(
        pattern, lesson=unbinding(pattern.lesson), condition=unbinding(pattern.condition)
    )


def _check_text(name: str, text: str) -> None:
    if len(text) > LESSON_CHARS:
        raise ValueError(f"{name}: {len(text)} characters; at most {LESSON_CHARS}")
    if clean(text) != text:
        raise ValueError(f"{name} = {text[:60]!r}: want one line without control characters")
    if re.match(r"\W*must\b\W*", text, re.IGNORECASE):
        raise ValueError(f'{name} begins with "MUST", which marks rules; a lesson never binds')


def _check_names(pattern: Pattern) -> None:
    wanted = {
        "id": (_ID, "want letters, digits, _ and -"),
        "domain": (DOMAIN, "want lower-case letters, digits and _"),
        "source_run": (_RUN, "want the id of a run"),
        "embedder": (_EMBEDDER, "want the name of an embedder"),
    }
    for name, (form, want) in wanted.items():
        value = getattr(pattern, name)
        if not form.fullmatch(value):
            raise ValueError(f"{name} = {value[:60]!r}: {want}")
    if pattern.superseded_by and not _ID.fullmatch(pattern.superseded_by):
        raise ValueError(f"superseded_by = {pattern.superseded_by[:60]!r}: want the id of one")


def _check_counts(pattern: Pattern) -> None:
    numbers = (pattern.wins, pattern.scored, pattern.uses)
    if sorted(numbers) != list(numbers) or not 0 <= numbers[0] <= numbers[-1] <= _MOST:
        raise ValueError("wins, scored and uses: want numbers from 0, none above the next")
    if not 0 <= pattern.confirmed <= _MOST:
        raise ValueError("confirmed: want a number from 0")
    if not math.isfinite(pattern.created_at) or not 0 <= pattern.created_at <= 1e11:
        raise ValueError("created_at: want seconds from 0")


def _read(number: int, line: str, name: str) -> tuple[Pattern, Vectors | None]:
    try:
        if number > _LINES:
            raise ValueError(f"more than {_LINES} lines")
        if len(line) > _LINE_CHARS:
            raise ValueError(f"{len(line)} characters; at most {_LINE_CHARS}")
        parsed = _Line.model_validate_json(line)
        return _checked(parsed.pattern), parsed.vectors
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
) -> dict[str, tuple[Pattern, Vectors | None]]:
    found: dict[str, tuple[Pattern, Vectors | None]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        pattern, rows = _read(number, line, name)
        if pattern.id in found:
            raise _bad(number, name, f"the id {pattern.id!r} comes twice")
        if rows is not None and pattern.embedder == embedder.name:
            try:
                found[pattern.id] = pattern, _fitting(rows, pattern, embedder)
            except (StoreError, ValueError) as error:
                raise _bad(number, name, str(error)) from error
        else:
            found[pattern.id] = pattern, None
    return found


def _fitting(rows: Vectors, pattern: Pattern, embedder: Embedder) -> Vectors:
    for row in rows:
        if len(row) != embedder.dimension:
            raise ValueError(f"a vector of {len(row)} numbers, not {embedder.dimension}")
    if len(rows) != len(retrieval_texts(pattern)):
        raise ValueError(f"{len(rows)} vectors for {len(retrieval_texts(pattern))} conditions")
    return [unit(row) for row in rows]


def _embedded(patterns: Iterable[Pattern], embedder: Embedder) -> Iterator[Item]:
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
    read = _read_all(lines, name, embedder)
    fresh = _embedded((pattern for pattern, rows in read.values() if rows is None), embedder)
    ready = {pattern.id: (pattern, rows) for pattern, rows in fresh}
    for key, (pattern, rows) in read.items():
        if rows is not None:
            ready[key] = pattern, rows
    with store.session():
        kept = {pattern.id: (pattern, rows) for pattern, rows in store.items()}
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
