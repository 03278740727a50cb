"""BGE-M3 through FlagEmbedding: the embedder of HiSA, section 4.3."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from hisa.errors import StoreError
from hisa.machine.parts import install_command

__all__ = ["BgeM3"]

_MAX_TOKENS = 512


class BgeM3:
    """1024-d dense vectors; FlagEmbedding finds or downloads the weights on first use."""

    name = "bge-m3"
    dimension = 1024

    def __init__(self, model: str = "BAAI/bge-m3") -> None:
        """Check that FlagEmbedding is there.

        Args:
            model: name of the weights, or a folder that holds them.

        Raises:
            StoreError: FlagEmbedding is not installed.
        """
        if find_spec("FlagEmbedding") is None:
            raise StoreError(
                "the embedder 'bge-m3' needs the package 'FlagEmbedding'",
                fix=install_command("bge"),
            )
        self._name_or_folder = model

    @cached_property
    def _model(self) -> Any:
        from FlagEmbedding import BGEM3FlagModel

        # Half precision gives other vectors on other machines; a store outlives the machine.
        return BGEM3FlagModel(self._name_or_folder, use_fp16=False)

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """One unit vector a text, in order."""
        from hisa.patterns.vectors import unit

        if not texts:
            return []
        dense = self._model.encode(list(texts), max_length=_MAX_TOKENS)["dense_vecs"]
        return [unit(vector) for vector in dense]
