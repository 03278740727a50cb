"""Changes JSON files with comments, as Visual Studio Code writes them, and leaves the comments.

A change replaces the text of one value, or adds one; all else stays as it stands.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from .files_common import Refused

__all__ = ["key_number", "load", "parse", "with_element", "with_value", "without", "write"]

_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[}\]])')
_INDENT = "    "
_LARGEST = 4 << 20
"""Bytes of the largest file of settings; a person's has some thousand."""


class Span(NamedTuple):
    """Where a member or element stands."""

    key: str | None
    start: int
    value: int
    end: int


def _blank(found: re.Match[str]) -> str:
    text = found[0]
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)


def _bare(text: str) -> str:
    """Returns the text with blanks in place of comments."""
    return _STRING_OR_COMMENT.sub(_blank, text)


def _clean(text: str) -> str:
    """Returns the text as plain JSON, each character where it was."""
    return _STRING_OR_COMMA.sub(_blank, _bare(text))


def parse(text: str, path: Path) -> Any:
    """Returns what a text holds; None where it is empty.

    Raises:
        Refused: it is no JSON, comments aside.
    """
    clean = _clean(text)
    if not clean.strip():
        return None
    try:
        return json.loads(clean)
    except ValueError as error:
        raise Refused(f"{path} is no JSON with comments: {error}") from error


def load(path: Path, kind: type) -> tuple[str, Any]:
    """Returns the text of a file and what it holds; both empty where it is not there.

    Args:
        path: where it is.
        kind: what it must hold: dict or list.

    Raises:
        Refused: it holds something else.
    """
    if path.exists() and path.stat().st_size > _LARGEST:
        raise Refused(f"{path} is larger than {_LARGEST >> 20} MiB")
    text = path.read_text("utf-8-sig") if path.exists() else ""
    value = parse(text, path)
    if value is None:
        return text, kind()
    if not isinstance(value, kind):
        raise Refused(f"{path} holds no {'object' if kind is dict else 'list'}")
    return text, value


def write(path: Path, text: str, wanted: Any) -> None:
    """Writes a file whole, if it holds what is wanted.

    Raises:
        Refused: the text does not, and nothing was written.
    """
    if parse(text, path) != wanted:
        raise Refused(f"{path} could not be changed and keep the rest: change it in the editor")
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(draft, target.stat().st_mode & 0o777 if target.exists() else 0o644)
    os.replace(draft, target)


def _spans(text: str) -> tuple[int, list[Span], int]:
    """Returns where the outermost brackets stand, and what is directly between them."""
    clean = _clean(text)
    decoder, spans = json.JSONDecoder(), list[Span]()
    opening = re.search(r"[{\[]", clean)
    assert opening is not None
    at, named = opening.end(), opening[0] == "{"
    while True:
        at = _past(clean, at)
        if clean[at] in "}]":
            return opening.start(), spans, at
        if clean[at] == ",":
            at += 1
            continue
        start, key = at, None
        if named:
            key, at = decoder.raw_decode(clean, at)
            at = _past(clean, _past(clean, at) + 1)  # over the colon
        value, (_, at) = at, decoder.raw_decode(clean, at)
        spans.append(Span(key, start, value, at))


def _past(text: str, at: int) -> int:
    while text[at].isspace():
        at += 1
    return at


def _told(value: Any) -> str:
    return json.dumps(value, indent=len(_INDENT), ensure_ascii=False).replace("\n", f"\n{_INDENT}")


def with_value(text: str, key: str, value: Any) -> str:
    """Returns the text of an object in which a key has a value."""
    if not _clean(text).strip():
        text = f"{text.rstrip()}\n".lstrip("\n")
        return f"{text}{{\n{_INDENT}{json.dumps(key)}: {_told(value)}\n}}\n"
    _, spans, _ = _spans(text)
    for span in reversed(spans):  # the last of two holds
        if span.key == key:
            return text[: span.value] + _told(value) + text[span.end :]
    return _added(text, f"{json.dumps(key, ensure_ascii=False)}: {_told(value)}")


def with_element(text: str, value: Any) -> str:
    """Returns the text of a list with one more element at its end."""
    if not _clean(text).strip():
        text = f"{text.rstrip()}\n".lstrip("\n")
        return f"{text}[\n{_INDENT}{_told(value)}\n]\n"
    return _added(text, _told(value))


def _added(text: str, member: str) -> str:
    opening, spans, closing = _spans(text)
    last = spans[-1].end if spans else opening + 1
    has_comma = "," in _bare(text)[last:closing]
    comma = "," if spans and not has_comma else ""
    between = text[last:closing].rstrip()
    return f"{text[:last]}{comma}{between}\n{_INDENT}{member}\n{text[closing:]}"


def without(text: str, number: int) -> str:
    """Returns the text of an object or list without one of its members."""
    _, spans, closing = _spans(text)
    span, bare = spans[number], _bare(text)
    following = spans[number + 1].start if number + 1 < len(spans) else closing
    comma = bare.find(",", span.end, following)
    end = comma + 1 if comma >= 0 else span.end
    start = span.start
    if comma < 0 and number:  # it was the last: the comma before it goes
        before = bare.rfind(",", spans[number - 1].end, span.start)
        text = f"{text[:before]} {text[before + 1 :]}" if before >= 0 else text
    line = text.rfind("\n", 0, start)
    if not text[line + 1 : start].strip() and re.match(r"[ \t]*(\n|$)", text[end:]):
        start = max(line, 0)
    return text[:start] + text[end:]


def key_number(text: str, key: str) -> int:
    """Returns the number of the member with a key; -1 where there is none."""
    _, spans, _ = _spans(text)
    return max((at for at, span in enumerate(spans) if span.key == key), default=-1)
