"""A pattern written by a person."""

from __future__ import annotations

import time
from typing import Literal

from hisa.errors import UsageError
from hisa.patterns.induction import new_id
from hisa.patterns.pattern_text import DOMAIN, LESSON_CHARS, clean, unbinding
from hisa.protocols import Pattern, Scope

__all__ = ["written"]

_SCOPES: dict[str, Scope] = {
    "application": "application",
    "family": "family",
    "page": "page",
}
_KINDS: dict[str, Literal["success", "failure"]] = {"success": "success", "failure": "failure"}


def written(
    lesson: str,
    *,
    domain: str,
    kind: str,
    condition: str,
    actions: str,
    expected: str,
    scope: str,
) -> Pattern:
    """A new pattern of these texts.

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
    if kind not in _KINDS:
        raise UsageError(f"kind {kind!r}: choose one of {', '.join(_KINDS)}")
    if scope not in _SCOPES:
        raise UsageError(f"scope {scope!r}: choose one of {', '.join(_SCOPES)}")
    return Pattern(
        id=new_id(),
        domain=domain,
        kind=_KINDS[kind],
        lesson=clean(lesson),
        created_at=time.time(),
        condition=clean(condition),
        actions=clean(actions),
        expected=clean(expected),
        scope=_SCOPES[scope],
    )
