"""Checks vectors that come from outside and scales them to length 1."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hisa.errors import StoreError

__all__ = ["cosine", "unit"]


def unit(vector: Iterable[float]) -> list[float]:
    """Returns the vector scaled to length 1.

    Raises:
        StoreError: it has no direction (empty, all zero, infinite or not a number).
    """
    values = [float(value) for value in vector]
    length = math.sqrt(math.fsum(value * value for value in values))
    if not math.isfinite(length) or length == 0.0:
        raise StoreError(f"a vector of {len(values)} numbers has length {length!r}, not above 0")
    return [value / length for value in values]


def cosine(first: Iterable[float], second: Iterable[float]) -> float:
    """Returns the cosine similarity of two unit vectors."""
    return math.fsum(a * b for a, b in zip(first, second, strict=True))
