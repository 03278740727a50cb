"""Patterns from a person, and in and out of a store as JSON Lines: import and export.

One object a line: ``{"v": 1, "pattern": {…}}``. Nothing is written before every line is checked,
and then everything at once.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from hisa.errors import UsageError
from hisa.machine.storage import replace_file
from hisa.patterns.dedup import CONDITIONS
from hisa.patterns.induction import new_id
from hisa.patterns.pattern_text import DOMAIN, LESSON_CHARS, clean, retrieval_texts, unbinding
from hisa.patterns.stores.vector_store import Item, VectorStore, check_meta, to_payload
from hisa.protocols import Embedder, Pattern, Scope

__all__ = ["export_lines", "import_patterns", "write_atomically", "written"]

_BATCH = 256  # chosen by hand
_LINE_CHARS = 1_000_000  # chosen by hand
_LINES = 100_000
"""Lines of a file; all are held in memory until the last one is checked."""
_MUST = re.compile(r"\W*must\b\W*", re.IGNORECASE)


def written(lesson: str, *, domain: str, condition: str, **more: Any) -> Pattern:
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
        yield _Line(v=1, pattern=_Imported(**to_payload(pattern))).model_dump_json(
            exclude={"vectors"}
        )


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


def _one_line(text: str) -> str:
    if clean(text) != text:
        raise ValueError("want one line without control characters")
    if _MUST.match(text):
        raise ValueError('begins with "MUST", which marks rules; a lesson never binds')
    return text


_Text = Annotated[str, Field(max_length=LESSON_CHARS), AfterValidator(_one_line)]
_Count = Annotated[int, Field(ge=0, le=10**9)]  # chosen by hand


def _name(pattern: str) -> Any:
    return StringConstraints(pattern=rf"\A{pattern}\z")


class _Imported(BaseModel):
    """A pattern of a file, every field of which is what HiSA itself could have written."""

    model_config = ConfigDict(extra="forbid")
    id: Annotated[str, _name(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")]
    domain: Annotated[str, _name(DOMAIN.pattern)]
    kind: Literal["success", "failure"]
    lesson: Annotated[_Text, Field(min_length=1)]
    condition: _Text = ""
    actions: _Text = ""
    expected: _Text = ""
    source_run: Annotated[str, _name(r"([A-Za-z0-9_][A-Za-z0-9_.:-]{0,199})?")] = ""
    embedder: Annotated[str, _name(r"[A-Za-z0-9_:./@-]{0,200}")] = ""
    created_at: Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)] = 0.0
    uses: _Count = 0
    wins: _Count = 0
    status: Literal["active", "superseded", "removed"] = "active"
    superseded_by: Annotated[str, _name(r"([A-Za-z0-9_][A-Za-z0-9_-]{0,63})?")] = ""
    scope: Scope = "family"
    other_conditions: Annotated[tuple[_Text, ...], Field(max_length=CONDITIONS)] = ()
    scored: _Count = 0
    confirmed: _Count = 0

    @model_validator(mode="after")
    def _is_consistent(self) -> _Imported:
        if not self.wins <= self.scored <= self.uses:
            raise ValueError("wins, scored and uses: want none above the next")
        if len(self.pattern().conditions) > CONDITIONS:
            raise ValueError(f"at most {CONDITIONS} conditions")
        return self

    def pattern(self) -> Pattern:
        """The pattern, whose texts bind nobody."""
        pattern = Pattern(**self.model_dump())
        return replace(
            pattern, lesson=unbinding(pattern.lesson), condition=unbinding(pattern.condition)
        )


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")
    v: Literal[1]
    pattern: _Imported
    vectors: list[list[float]] | None = None
    """Of an older export; they are made anew."""


def _read(number: int, line: str, name: str) -> Pattern:
    try:
        if number > _LINES:
            raise ValueError(f"more than {_LINES} lines")
        if len(line) > _LINE_CHARS:
            raise ValueError(f"{len(line)} characters; at most {_LINE_CHARS}")
        return _Line.model_validate_json(line).pattern.pattern()
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
    patterns = _read_all(lines, name)
    items = list(_embedded(patterns.values(), embedder))
    with store.session():
        replaced = len(patterns.keys() & {known.id for known in store.list(status=None)})
        if items:
            store.put_all(items)
    return len(items) - replaced, replaced
