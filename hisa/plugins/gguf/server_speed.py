"""Measures a server's speed in about three seconds: tokens of a prompt read, and tokens written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from hisa.machine.patience import patience
from hisa.models.endpoint import Endpoint

__all__ = ["Speed", "measure_speed"]

_SECONDS = 1.2
"""For each of the two; the first small question and the rest make up the third second."""
_FIRST, _MOST = 24, 1024
"""Words of the first prompt, by which the length of the second is chosen, and of the longest."""
_LIMIT = 30.0


@dataclass(frozen=True)
class Speed:
    """Tokens a second: read from a prompt, and written."""

    read: float
    written: float


def measure_speed(endpoint: Endpoint) -> Speed:
    """Ask a server of llama.cpp twice, and take its own times.

    Raises:
        httpx.HTTPError: it does not answer.
        ValueError: its answer tells no times.
    """
    first = _timings(endpoint, _FIRST, "a")
    words = int(min(_MOST, max(2 * _FIRST, first["prompt_per_second"] * _SECONDS)))
    second = _timings(endpoint, words, "b")
    return Speed(second["prompt_per_second"], second["predicted_per_second"])


def _timings(endpoint: Endpoint, words: int, word: str) -> dict[str, float]:
    """The server's times for a prompt that begins unlike any that it still knows."""
    body = {
        "prompt": f" {word}" * words, "n_predict": 256 if word == "b" else 1, "ignore_eos": True,
        "t_max_predict_ms": 1000 * _SECONDS, "cache_prompt": False, "temperature": 0,
    }  # fmt: skip
    answer = httpx.post(
        f"{endpoint.url.removesuffix('/v1')}/completion",
        json=body,
        headers={"Authorization": f"Bearer {endpoint.api_key}"},
        timeout=patience(_LIMIT),
        trust_env=False,
    )
    answer.raise_for_status()
    try:
        timings: dict[str, Any] = answer.json()["timings"]
        return {
            name: float(timings[name]) for name in ("prompt_per_second", "predicted_per_second")
        }
    except (KeyError, TypeError) as error:
        raise ValueError(f"no times in the answer: {error}") from error
