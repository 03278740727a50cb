"""Embedders turn text into unit vectors; a setting chooses one by name."""

from __future__ import annotations

from dataclasses import dataclass

from hisa.config import PatternSettings
from hisa.errors import ConfigError
from hisa.protocols import Embedder

__all__ = ["EMBEDDERS", "Thresholds", "open_embedder", "thresholds_of"]

EMBEDDERS = ("minilm", "bge-m3", "openai:MODEL")
"""The names that `open_embedder` accepts; MODEL is any model of the endpoint."""


@dataclass(frozen=True)
class Thresholds:
    """Least cosine similarities (-1 to 1) at which two texts are near, for one embedder.

    ``recalled`` is for a task and a condition. ``application`` is the same for a lesson of the
    whole application, which is recalled only for clauses that no other lesson is nearer to.
    ``same`` is for two lessons that say the same.
    """

    recalled: float
    application: float
    same: float


_PUBLISHED = Thresholds(recalled=0.5, application=0.5, same=0.7)
"""From HiSA, section 4.3, for BGE-M3; also used for embedders that were never calibrated."""
_CALIBRATED = {"minilm": Thresholds(recalled=0.49, application=0.33, same=0.62)}
"""Chosen on the tune half of benchmarks/retrieval by ``python -m benchmarks.lesson_recall``."""


def thresholds_of(embedder: str, settings: PatternSettings) -> Thresholds:
    """Returns the thresholds of an embedder; those that the settings name take precedence."""
    own = _CALIBRATED.get(embedder, _PUBLISHED)
    least, same = settings.threshold, settings.dedup
    return Thresholds(
        recalled=own.recalled if least is None else least,
        application=own.application if least is None else least,
        same=own.same if same is None else same,
    )


def open_embedder(name: str) -> Embedder:
    """Returns the embedder of that name; models are loaded on first use.

    Raises:
        ConfigError: the name is unknown, or a setting that the embedder needs is missing.
        StoreError: the package of the embedder is not installed.
    """
    if name == "minilm":
        from hisa.patterns.embedders.minilm import MiniLM

        return MiniLM()
    if name == "bge-m3":
        from hisa.patterns.embedders.bge_m3 import BgeM3

        return BgeM3()
    if name.startswith("openai:") and name != "openai:":
        from hisa.patterns.embedders.openai_endpoint import OpenAIEndpoint

        return OpenAIEndpoint(name.removeprefix("openai:"))
    raise ConfigError(
        f"patterns.embedder = {name!r}: choose one of {', '.join(EMBEDDERS)}",
        fix="--set patterns.embedder=minilm",
    )
