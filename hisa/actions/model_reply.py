"""The reply of a model: records without behaviour."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ModelReply", "TurnTokens", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call."""

    tokens_in: int = 0
    tokens_out: int = 0
    cached_in: int = 0
    """The part of ``tokens_in`` that the server took from its cache."""
    reasoning_out: int = 0
    """The part of ``tokens_out`` that was reasoning, not answer."""


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """Tokens of a call as the server counts them; missing data is None, never empty."""

    prompt_ids: tuple[int, ...] | None = None
    reply_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    """Natural logarithms of the probabilities of the reply's tokens, one each."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply; ``finish`` is the server's word ("stop", "length", …)."""

    text: str
    usage: Usage = Usage()
    finish: str = "stop"
    model: str = ""
    """The model's name, as the server reports it."""
    policy: str = ""
    """The version of the policy that answered, if the server reports one."""
    tokens: TurnTokens | None = None
    turn: str = ""
    """The call's name in the log; empty outside a run."""
