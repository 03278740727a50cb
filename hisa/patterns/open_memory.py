"""The pattern memory that the settings describe."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from hisa.config import PatternSettings, StateSettings
from hisa.errors import ConfigError
from hisa.models.tokens import estimate_tokens
from hisa.patterns.embedders import open_embedder
from hisa.patterns.memory import PatternMemory
from hisa.patterns.sops import Sop, load_sops, render_rules, rules_for
from hisa.patterns.stores.vector_store import VectorStore
from hisa.protocols import Embedder, Emit, Model
from hisa.text.prompts import data_folder

__all__ = ["open_memory", "open_sops", "open_store"]


def open_store(settings: PatternSettings, embedder: Embedder | None = None) -> VectorStore:
    """The store of the settings; nothing is made or checked before its first operation.

    Raises:
        ConfigError: unknown embedder.
        StoreError: its package is missing, or the server's address is none.
    """
    chosen = embedder or open_embedder(settings.embedder)
    if settings.engine == "server":
        from hisa.patterns.stores.qdrant_server import ServerStore

        return ServerStore.connect(settings.url, settings.collection, embedder=chosen)
    from hisa.patterns.stores.edge import EdgeStore

    return EdgeStore(settings.path, chosen)


def open_sops(settings: PatternSettings) -> tuple[Sop, ...]:
    """The rules that ship and those of ``patterns.sops``.

    Raises:
        ConfigError: a file is wrong, with file and line.
    """
    own = settings.sops
    shipped = load_sops(data_folder("patterns_db"))
    return shipped + (load_sops(own.expanduser(), own=True) if own else ())


def open_memory(
    settings: PatternSettings, state: StateSettings, model: Model, emit: Emit
) -> PatternMemory:
    """Store, embedder and rules of the settings.

    Raises:
        ConfigError: also where the rules that a user marked MUST have no room.
        StoreError: see `open_store`.
    """
    embedder = open_embedder(settings.embedder)
    store = open_store(settings, embedder)
    sops = open_sops(settings)
    _check_binding(sops, state.advice_tokens)
    return PatternMemory(
        store, embedder, model=model, settings=settings, state=state, emit=emit, sops=sops
    )


def _check_binding(sops: Sequence[Sop], limit: int) -> None:
    """Refuse rules that always enter whole, and cannot."""
    for domain in {domain for sop in sops if sop.own for domain in sop.domains}:
        own = [sop for sop in sops if sop.own]
        binding = [rule for rule in rules_for(own, domain) if rule.startswith("MUST")]
        if render_rules(binding, domain=domain, limit=limit).left_out:
            needed = estimate_tokens("\n".join(f"- {rule}" for rule in binding))
            raise ConfigError(
                f"state.advice_tokens = {limit}: the rules of patterns.sops that are marked MUST "
                f"take {needed} in the domain {domain!r}; allowed is {needed} or more",
                fix=f"--set state.advice_tokens={ceil(needed / 100) * 100}",
            )
