"""How near in meaning words are: "lower" and "decrease", "bin" and "delete".

``senses.npz`` holds a short vector for each common English word, made from the sentence embedder
all-MiniLM-L6-v2 by `scripts/train_ranker.py --senses`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

__all__ = ["Senses", "load_senses"]

_WORD = re.compile(r"[a-z]{2,16}")
_HOLLOW = (
    "the a an of to in on at for with and or its it this that is by from which one as are be was "
    "will can all no not but so if then than has have had do does did into out up"
)


class Senses:
    """Vectors of words, of length 1."""

    def __init__(self, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._row = {word: row for row, word in enumerate(words)}
        self._vectors = vectors

    def rows(self, text: str) -> tuple[int, ...]:
        """The rows of the words of a text that are known and say something."""
        found = (w for w in _WORD.findall(text.casefold()) if w not in _HOLLOW.split())
        return tuple(self._row[w] for w in found if w in self._row)

    def nearness(self, asked: Sequence[int], told: Sequence[int]) -> NDArray[np.float32]:
        """The cosine of each word asked for and each word told."""
        return np.asarray(self._vectors[list(asked)] @ self._vectors[list(told)].T)


@lru_cache(maxsize=1)
def load_senses() -> Senses:
    """The words that HiSA ships."""
    with (files("hisa.grounder") / "senses.npz").open("rb") as file, np.load(file) as content:
        words = bytes(content["words"]).decode("ascii").split()
        vectors = content["vectors"].astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    return Senses(words, vectors)
