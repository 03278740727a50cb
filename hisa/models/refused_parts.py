"""What a server refuses of a request: the profile that goes without it."""

from __future__ import annotations

import re

from hisa.models.profile import Profile
from hisa.models.retry import TryFailed

__all__ = ["profile_without"]

_OTHER = (401, 403, 404, 408, 413, 429)
"""Statuses that say something of the key, the address, the time or the size."""
_STREAM = r"\bstream"
_FORM = r"response.?format|json.?(schema|object|mode)|structured.?output|grammar"


def profile_without(profile: Profile, failure: TryFailed) -> Profile:
    """The profile without what the server named in its refusal; as it is for anything else."""
    status = failure.status or 0
    words = failure.words if status >= 400 and status not in _OTHER else ""
    # A stream that broke (5xx) may go next time.
    if profile.streams and failure.kind == "refused" and re.search(_STREAM, words, re.I):
        return profile.model_copy(update={"streams": False})
    if profile.structured != "none" and re.search(_FORM, words, re.I):
        return profile.model_copy(update={"structured": "none"})
    return profile
