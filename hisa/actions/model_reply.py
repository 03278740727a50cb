"""The answer of a model: records without behaviour."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ModelReply", "TurnTokens", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call."""

    tokens_in: int = 0
    tokens_out: int = 0
    cached_in: int = 0
    """Of ``tokens_in``: what the server took from its cache."""
    reasoning_out: int = 0
    """Of ``tokens_out``: what was thought and not said."""


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """Tokens of a call as the server counts them; what it does not give is None, never empty."""

    prompt_ids: tuple[int, ...] | None = None
    reply_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    """Natural logarithms of the chances of the reply's tokens, one each."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's answer; ``finish`` is the server's word ("stop", "length", …)."""

    text: str
    usage: Usage = Usage()
    finish: str = "stop"
    model: str = ""
    """As the server names it."""
    policy: str = ""
    """The version of what answered, where the server says one."""
    tokens: TurnTokens | None = None
    turn: str = ""
    """The call's name in the log; empty outside a run."""
