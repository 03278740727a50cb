"""What a server refuses of a request: the profile that goes without it, or what a person can do.

Servers name what they refuse in words of their own, by statuses from 400 to 501; docs/servers.md
lists those that were tried. What counts is the part of the request that is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hisa.models.profile import Profile
from hisa.models.retry import TryFailed
from hisa.protocols import ModelRequest, Role

__all__ = ["picture_refused", "profile_without"]

_OTHER = (401, 403, 408, 413, 429)
"""Statuses that say something of the key, the time or the size, whatever else they name."""
_WAYS: tuple[tuple[str, Mapping[str, object]], ...] = (
    (r"\bstream", {"streams": False}),
    (
        r"response.?format|response.?schema|json.?(schema|object|mode)|structured.?output|grammar",
        {"structured": "none"},
    ),
    (r"\balternat", {"strict_turns": True, "system_as": "user"}),
    (
        r"\bsystem.?(role|message|prompt|instruction)|\brole\b[^:]{0,30}\bsystem\b"
        r"|developer.?instruction|\buser\W{1,4}(and|or)\W{1,4}assistant\b",
        {"system_as": "user"},
    ),
)
"""What is named, and the keys of a profile that go round it."""
_PICTURE = re.compile(
    r"image|vision|multi.?modal|mmproj|content.{0,20}must be a string|content.?(type|part)", re.I
)
_NEVER = re.compile(r"support|mmproj|multi.?modal|image input", re.I)
"""What a server's own failure (5xx) names besides where it is a refusal, as llama.cpp's are."""


def _named(failure: TryFailed) -> str:
    """Returns the words of a refusal; empty if the failure is none."""
    status = failure.status
    return failure.words if status and status >= 400 and status not in _OTHER else ""


def profile_without(profile: Profile, failure: TryFailed) -> Profile:
    """The profile without what the server refused; as it is if one cannot go without that."""
    for pattern, keys in _WAYS:
        changed = profile.model_copy(update=keys)
        if "streams" in keys and failure.kind != "refused":
            continue  # a stream that broke may go next time
        if changed != profile and re.search(pattern, _named(failure), re.I):
            return changed
    return profile


def picture_refused(failure: TryFailed, request: ModelRequest, section: Role) -> TryFailed | None:
    """The failure that a refused picture is: no further try helps, a setting does."""
    words = _named(failure)
    if not request.images or not _PICTURE.search(words):
        return None
    if failure.kind != "refused" and not _NEVER.search(words):
        return None
    way = "planner.sees=elements"
    if request.role == "grounder":
        way = "grounder.kind=elements"
    elif section != "planner":
        way = f"models.{section}.profile=FILE.toml with sees_pictures = false"
    fix = f"if the model takes no pictures: --set {way}"
    return TryFailed(str(failure), "refused", status=failure.status, fix=fix)
