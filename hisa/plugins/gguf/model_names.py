"""Finds the files of ``gguf:NAME``, where NAME is a path or the short name of a fetched model."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hisa.errors import ConfigError
from hisa.plugins.gguf.gguf_header import read_header
from hisa.plugins.gguf.weights_table import TABLE

__all__ = ["PREFIX", "ModelFiles", "fetched_names", "find_files", "place_of"]

PREFIX = "gguf:"
"""The prefix of models' names."""
_EYES, _ADAPTER = ",mmproj=", ",adapter="


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model; without ``eyes``, its ``mmproj`` file, it sees no pictures."""

    weights: Path
    eyes: Path | None = None
    adapter: Path | None = None
    """A LoRA adapter, such as `hisa train lora` writes."""


def weights_folder() -> Path:
    """Returns the folder of fetched models: ``hisa/models`` below ``XDG_DATA_HOME``."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "hisa" / "models"


def place_of(name: str) -> Path:
    """Returns the path that a name without ``gguf:`` stands for, whether or not it is there."""
    if name in TABLE:
        return weights_folder() / name / TABLE[name].file
    return Path(name).expanduser()


def find_files(model: str) -> ModelFiles:
    """Returns the files of ``gguf:NAME``; ``,mmproj=FILE`` and ``,adapter=FILE`` may follow.

    Without ``mmproj=``, a file ``mmproj*.gguf`` beside the model is taken if it was made for it.

    Raises:
        ConfigError: a file is missing, or is not a GGUF file; the fix says how to fetch it.
    """
    model, _, added = model.partition(_ADAPTER)
    adapter = _find_adapter(Path(added).expanduser()) if added else None
    name, named, eyes = model.removeprefix(PREFIX).partition(_EYES)
    weights = place_of(name)
    if not weights.exists() and name in TABLE:
        raise ConfigError(f"{model}: not fetched yet", fix=f"hisa models fetch {name}")
    if not weights.exists() and "/" not in name and not name.endswith(".gguf"):
        raise ConfigError(
            f"{model}: no such file, and no model of that name; known are {', '.join(TABLE)}",
            fix="hisa models ls",
        )
    if read_header(weights).architecture == "clip":
        raise ConfigError(
            f"{weights}: the eyes of a model, not a language model",
            fix=f"name the model, and this file after it: {PREFIX}MODEL.gguf{_EYES}{weights}",
        )
    if not named:
        return ModelFiles(weights, _eyes_beside(weights), adapter)
    read_header(file := Path(eyes).expanduser())
    return ModelFiles(weights, file, adapter)


def _find_adapter(path: Path) -> Path:
    """Returns the resolved path of an adapter.

    Raises:
        ConfigError: the file is missing, or is no adapter in GGUF form.
    """
    if (kind := read_header(path).values.get("general.type")) != "adapter":
        raise ConfigError(
            f"{path}: holds a {kind or 'model'}, not an adapter",
            fix="hisa train lora … -o DIR writes DIR/adapter.gguf",
        )
    return path.resolve()


def _eyes_beside(weights: Path) -> Path | None:
    """Returns the first ``mmproj`` file in the model's folder that is as wide as the model."""
    width = read_header(weights).number("embedding_length")
    for path in sorted(weights.parent.glob("mmproj*.gguf"))[:20]:
        with suppress(ConfigError):  # a broken neighbour is no reason to refuse the model
            if read_header(path).values.get("clip.vision.projection_dim") == width:
                return path
    return None


def fetched_names() -> tuple[str, ...]:
    """Returns the names of the models in the folder of fetched ones."""
    return tuple(name for name in TABLE if place_of(name).exists())
