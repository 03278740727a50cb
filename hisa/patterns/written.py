"""A pattern written by a person."""

from __future__ import annotations

import re
import time
from typing import Literal

from hisa.errors import UsageError
from hisa.patterns.induction import new_id
from hisa.patterns.text import LESSON_CHARS, clean
from hisa.protocols import Pattern

__all__ = ["written"]

_DOMAIN = re.compile(r"[a-z0-9_]{1,50}")
_KINDS: dict[str, Literal["success", "failure"]] = {"success": "success", "failure": "failure"}


def written(
    lesson: str,
    *,
    domain: str = "general",
    kind: str = "success",
    condition: str = "",
    actions: str = "",
    expected: str = "",
) -> Pattern:
    """A new pattern of these texts.

    Raises:
        UsageError: a text is too long, the lesson is empty, or the domain or kind is none.
    """
    texts = {"lesson": lesson, "condition": condition, "actions": actions, "expected": expected}
    for name, text in texts.items():
        if len(text) > LESSON_CHARS:
            raise UsageError(f"{name}: {len(text)} characters; at most {LESSON_CHARS}")
    if not clean(lesson):
        raise UsageError("lesson: empty; say what to do or what to avoid")
    if not _DOMAIN.fullmatch(domain):
        raise UsageError(f"domain {domain!r}: want lower-case letters, digits and _")
    if kind not in _KINDS:
        raise UsageError(f"kind {kind!r}: choose one of {', '.join(_KINDS)}")
    return Pattern(
        id=new_id(),
        domain=domain,
        kind=_KINDS[kind],
        lesson=clean(lesson),
        created_at=time.time(),
        condition=clean(condition),
        actions=clean(actions),
        expected=clean(expected),
    )
