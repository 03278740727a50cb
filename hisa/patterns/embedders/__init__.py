"""Embedders: text to unit vectors, chosen by name."""

from __future__ import annotations

from hisa.errors import ConfigError
from hisa.protocols import Embedder

__all__ = ["EMBEDDERS", "open_embedder"]

EMBEDDERS = ("minilm", "bge-m3", "openai:MODEL")
"""What `open_embedder` takes; MODEL is any model of the endpoint."""


def open_embedder(name: str) -> Embedder:
    """The embedder of that name; models are loaded on first use.

    Args:
        name: one of `EMBEDDERS`.

    Raises:
        ConfigError: unknown name, or a setting it needs is missing.
        StoreError: its package is not installed.
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
