"""Requests of a run's socket: their schemas, and how a line becomes one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hisa.plugins.live.watched.gate import Refused
from hisa.plugins.live.watched.person_acts import Act

__all__ = ["Request", "read_request"]

Word = Annotated[str, Field(max_length=200)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Plain(_Request):
    """A request that says nothing more."""

    do: Literal["status", "pause", "resume", "stop"]


class Take(_Request):
    """Take the machine over."""

    do: Literal["take"]
    viewer: Annotated[str, Field(min_length=1, max_length=80)]


class Give(_Request):
    """Give it back."""

    do: Literal["give"]
    lease: Word


class Input(_Request):
    """Act on it."""

    do: Literal["input"]
    lease: Word
    acts: Annotated[tuple[Act, ...], Field(min_length=1, max_length=50)]


class Reply(_Request):
    """Answer a question of the run."""

    do: Literal["answer"]
    question: Word
    kind: Literal["", "once", "kind", "stop", "refuse"] = ""
    text: Annotated[str, Field(max_length=2_000)] = ""


class Picture(_Request):
    """See the screen."""

    do: Literal["frame"]
    width: Literal[0, 320] = 0
    since: Word = ""


Request = Plain | Take | Give | Input | Reply | Picture
_ADAPTER: TypeAdapter[Request] = TypeAdapter(
    Annotated[Request, Field(discriminator="do")], config=ConfigDict(defer_build=True)
)


def read_request(line: bytes) -> Request:
    """The request of a line.

    Raises:
        Refused: it is none; what it held is not told again, since it may be a password.
    """
    try:
        return _ADAPTER.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part)[:40] for part in first["loc"])[:120]
        message = first["msg"] if first["type"] != "union_tag_invalid" else "no such request"
        raise Refused(f"not a request: {place + ': ' if place else ''}{message}") from None
