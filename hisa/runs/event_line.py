"""Writes an event as one line of JSON of limited size.

Events contain replies of models and output of commands, so they may hold anything: megabytes, lone
surrogates, endless nesting. The line is valid JSON of limited size in any case.
"""

from __future__ import annotations

import json
import math
from typing import Any

from hisa.events import Event
from hisa.text.safe_text import encodable

__all__ = ["FIELD_LIMIT", "LINE_LIMIT", "encode", "is_cut"]

FIELD_LIMIT = 20_000
"""Most characters of one text."""
LINE_LIMIT = 100_000
"""Most characters of all texts of one event together."""
ITEM_LIMIT = 1_000  # chosen by hand
DEPTH_LIMIT = 40  # chosen by hand
_MARK = " more characters were cut]"


def is_cut(text: str) -> bool:
    """Whether a text of the log was cut."""
    return text.endswith(_MARK)


def encode(event: Event) -> bytes:
    """Returns the line of an event, with its newline."""
    try:
        line = event.model_dump_json().encode()
    except ValueError:  # lone surrogates, endless nesting, values that JSON does not have
        line = b""
    if not line or len(line) > FIELD_LIMIT:
        plain = _Cutter().value(dict(event), 0)
        line = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
    return line + b"\n"


class _Cutter:
    """Copies plain data within the limits; each event needs a new cutter."""

    def __init__(self) -> None:
        self.left = LINE_LIMIT

    def value(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if isinstance(value, str):
            return self.text(value)
        if depth >= DEPTH_LIMIT:
            return self.text(f"[nested more than {DEPTH_LIMIT} deep]")
        if isinstance(value, dict):
            items = list(value.items())[:ITEM_LIMIT]
            return {self.text(str(key)): self.value(item, depth + 1) for key, item in items}
        if isinstance(value, list | tuple):
            return [self.value(item, depth + 1) for item in value[:ITEM_LIMIT] if self.left > 0]
        fields = getattr(value, "__pydantic_fields__", None)
        if fields is not None:
            return self.value(dict(value), depth)
        return self.text(str(value))

    def text(self, text: str) -> str:
        keep = max(0, min(FIELD_LIMIT, self.left))
        self.left -= min(len(text), keep)
        full_text = encodable(text)
        return (
            full_text
            if len(full_text) <= keep
            else f"{full_text[:keep]}[{len(full_text) - keep}{_MARK}"
        )
