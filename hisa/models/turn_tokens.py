"""Token ids and log-probs of a call, as servers of the chat protocol give them.

vLLM gives ``prompt_token_ids`` and a choice's ``token_ids`` where ``return_token_ids`` asks for
them; llama.cpp has an ``id`` in each entry of ``logprobs.content``. They are the engine's own:
nothing is tokenised here, for another tokeniser's ids are another prompt.
"""

from __future__ import annotations

import math
from typing import Any

from hisa.protocols import TurnTokens

__all__ = ["TokenReader", "token_fields"]

_MOST = 1_000_000
"""Tokens of a prompt or a reply; whoever sends more is not believed."""


def token_fields(*, ids: bool) -> dict[str, Any]:
    """Returns the fields of a request that ask for them."""
    return {"logprobs": True} | ({"return_token_ids": True} if ids else {})


class TokenReader:
    """Gathers them from a response, or from the chunks of one."""

    def __init__(self) -> None:
        self._prompt: list[Any] | None = None
        self._ids: list[Any] = []
        self._entries: list[Any] = []

    def add(self, body: dict[str, Any], choice: Any) -> TokenReader:
        """Take a response or a chunk, and its first choice; returns itself."""
        choice = choice if isinstance(choice, dict) else {}
        logprobs = choice.get("logprobs")
        entries = logprobs.get("content") if isinstance(logprobs, dict) else None
        self._prompt = self._prompt or _listed(body.get("prompt_token_ids")) or None
        self._ids += _listed(choice.get("token_ids"))
        self._entries += _listed(entries)
        return self

    def read(self) -> TurnTokens | None:
        """Returns all of it so far; None where there is nothing, or something else than numbers."""
        entries = [entry if isinstance(entry, dict) else {} for entry in self._entries]
        ids = _ids(self._ids) or _ids([entry.get("id") for entry in entries])
        chances = [entry.get("logprob") for entry in entries]
        good = all(isinstance(c, int | float) and math.isfinite(c) and c <= 0 for c in chances)
        logprobs = tuple(map(float, chances)) if good and chances else None  # type: ignore[arg-type]
        if ids and logprobs and len(ids) != len(logprobs):
            logprobs = None  # nobody knows which belongs to which
        tokens = TurnTokens(_ids(self._prompt or []), ids, logprobs)
        return None if tokens == TurnTokens() else tokens


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) and len(value) <= _MOST else []


def _ids(values: list[Any]) -> tuple[int, ...] | None:
    good = all(type(value) is int and 0 <= value < 2**31 for value in values)
    return tuple(values) if values and good else None
