"""An embedder for tests: no model, instant, and texts that share words are close."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

from hisa.patterns.vectors import unit

__all__ = ["WordEmbedder"]

_WORD = re.compile(r"\w+")


class WordEmbedder:
    """Counts words in ``dimension`` buckets; the same words in any order give cosine 1.

    Args:
        name: the identity of the embedder; a store refuses an embedder of another name.
        dimension: the number of components of a vector.
    """

    def __init__(self, name: str = "words", dimension: int = 256) -> None:
        self.name = name
        self.dimension = dimension

    def _vector(self, text: str) -> list[float]:
        counts = [0.0] * self.dimension
        for word in _WORD.findall(text.lower()) or [""]:
            counts[zlib.crc32(word.encode()) % self.dimension] += 1.0
        return unit(counts)

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """Returns one unit vector for each text, in order."""
        return [self._vector(text) for text in texts]
