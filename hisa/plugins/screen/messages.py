"""What HiSA and its processes for the screen send each other, pickled, through two pipes."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Reply", "Request"]


class Request(NamedTuple):
    """A request; "halt" ends the one of its number and those before it."""

    number: int
    kind: str
    values: tuple[Any, ...] = ()


class Reply(NamedTuple):
    """``kind`` is "ok", "refused", "failed" or "stopped".

    Without a number it answers nothing: the process could not start, or a person stopped the run.
    """

    number: int
    kind: str
    value: Any = None
