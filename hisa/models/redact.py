"""Secrets out of texts: what is printed or logged about a model never shows a key."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from hisa.events import Event, event_adapter

__all__ = ["REDACTED", "redact", "redact_event"]

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_MIN_SECRET = 8
"""Shorter values are words such as "none" or "1": hiding them would only damage the text."""

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}"), REDACTED),
    (re.compile(r"(?<![A-Za-z0-9])(?:gh[opsu]_|hf_|xox[abp]-)[A-Za-z0-9-]{16,}"), REDACTED),
    (re.compile(r"(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), REDACTED),
    (re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{6,}"), rf"\1{REDACTED}"),
    (
        re.compile(r"(?i)\b((?:x-)?api[-_]?key[\"']?\s*[:=]\s*[\"']?)[\w.~+/-]{6,}"),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"(://[^\s/@:]*:)[^\s/@]+@"), rf"\1{REDACTED}@"),
    (
        re.compile(r"(?i)([?&][\w-]*(?:key|token|secret|password)[\w-]*=)[^\s&\"'<>#]+"),
        rf"\1{REDACTED}",
    ),
)


def _secrets(environ: Mapping[str, str]) -> list[str]:
    """Values of variables that are secrets by name, longest first."""
    found = {
        value.strip()
        for name, value in environ.items()
        if _SECRET_NAME.search(name) and len(value.strip()) >= _MIN_SECRET
    }
    return sorted(found, key=lambda value: (-len(value), value))


def redact(text: str, /, environ: Mapping[str, str] | None = None) -> str:
    """The text with secrets replaced by ``[redacted]``.

    Secrets are: keys and tokens of well-known shapes, bearer tokens, API key headers, passwords
    and keys in URLs, and the value (8 characters or more) of every environment variable whose
    name contains KEY, TOKEN, SECRET or PASSWORD.

    Args:
        text: any text.
        environ: variables; None: the process's own.
    """
    for secret in _secrets(os.environ if environ is None else environ):
        text = text.replace(secret, REDACTED)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def _clean(value: Any, environ: Mapping[str, str] | None) -> Any:
    match value:
        case str():
            return redact(value, environ)
        case dict():
            return {key: _clean(item, environ) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_clean(item, environ) for item in value)
        case _:
            return value


def redact_event(event: Event, /, environ: Mapping[str, str] | None = None) -> Event:
    """The event with secrets replaced in every text it holds; itself where it holds none."""
    fields = event.model_dump()
    cleaned = _clean(fields, environ)
    return event if cleaned == fields else event_adapter.validate_python(cleaned)
