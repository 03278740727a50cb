"""Deterministic token estimates, for hard limits and for servers that report no usage.

No tokenizer is loaded: the estimate has to be the same for every model, cheap, and never far
below the truth. It counts a token for every four bytes of UTF-8 and at least one for every word,
so that English comes out near what byte-pair encoders give, Chinese or emoji a little under one
token a character, and short words (code, tables) at one token each.
"""

from __future__ import annotations

from hisa.protocols import ModelRequest

__all__ = ["estimate_input", "estimate_tokens"]


def estimate_tokens(text: str, /) -> int:
    """Tokens of a text: the larger of UTF-8 bytes / 4 (rounded up) and words.

    A prefix never has more tokens than the whole, so a text can be cut by bisection.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    return max(-(-size // 4), len(text.split()))


def estimate_input(request: ModelRequest, /, *, image_tokens: int) -> int:
    """Tokens of a request: its text, its pictures at ``image_tokens`` each, 4 for each message."""
    text = estimate_tokens(request.text)
    return text + request.images * image_tokens + 4 * len(request.messages)
