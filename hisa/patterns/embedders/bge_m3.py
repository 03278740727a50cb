"""BGE-M3 through FlagEmbedding: the embedder of HiSA, section 4.3."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hisa.errors import StoreError
from hisa.machine.parts import install_command

__all__ = ["BgeM3"]

_NAME = "BAAI/bge-m3"
_MAX_TOKENS = 512
_FETCH = f"hf download {_NAME} --exclude 'onnx/*' --exclude 'imgs/*'"
"""The command that fetches the weights, without their copy for another engine."""


class BgeM3:
    """Dense vectors of 1024 components; loads the weights (2.3 GB) on first use, never fetches."""

    name = "bge-m3"
    dimension = 1024

    def __init__(self) -> None:
        """Check that FlagEmbedding is installed.

        Raises:
            StoreError: FlagEmbedding is not installed.
        """
        if find_spec("FlagEmbedding") is None:
            raise StoreError(
                "the embedder 'bge-m3' needs the package 'FlagEmbedding'",
                fix=install_command("bge"),
            )

    @cached_property
    def _model(self) -> Any:
        folder = _folder()
        from FlagEmbedding import BGEM3FlagModel

        try:
            # Half precision gives different vectors on other machines; stores move between them.
            return BGEM3FlagModel(str(folder), use_fp16=False)
        except Exception as error:  # each format of weights raises its own errors
            raise _refusal(f"the weights in {folder} cannot be loaded: {error}") from error

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """Returns one unit vector for each text, in order."""
        from hisa.patterns.vectors import unit

        if not texts:
            return []
        dense = self._model.encode(list(texts), max_length=_MAX_TOKENS)["dense_vecs"]
        return [unit(vector) for vector in dense]


def _folder() -> Path:
    """Returns the folder of the weights in the hub's cache; asks no server.

    Raises:
        StoreError: they are not there; the text names the command that fetches them.
    """
    from huggingface_hub import constants, try_to_load_from_cache

    config = try_to_load_from_cache(_NAME, "config.json")
    if not isinstance(config, str):
        raise _refusal(f"its weights are not in {constants.HF_HUB_CACHE}")
    return Path(config).parent


def _refusal(why: str) -> StoreError:
    fix = f"{_FETCH}, or --set patterns.embedder=minilm"
    return StoreError(f"the embedder 'bge-m3' ({_NAME}): {why}", fix=fix)
