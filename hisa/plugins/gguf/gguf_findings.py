"""What ``hisa doctor`` says about local models: ``doctor.models`` of ``hisa.commands``."""

from __future__ import annotations

from collections.abc import Iterator

from hisa.cli.findings import Finding
from hisa.config import ModelSettings, ModelsSettings
from hisa.errors import OperatorError
from hisa.plugins.gguf.gguf_model import build_spec, require_llama
from hisa.plugins.gguf.host_memory import free_bytes, gigabytes
from hisa.plugins.gguf.model_names import PREFIX, fetched_names, find_files

__all__ = ["models"]


def models(roles: ModelsSettings) -> Iterator[Finding]:
    """Yields the memory that each local model of the settings takes, or which models are here."""
    chosen = (roles.planner, roles.state, roles.grounder, roles.judge)
    own_models = dict.fromkeys(role for role in chosen if role and role.model.startswith(PREFIX))
    yield from map(_estimate_memory, own_models)
    if not own_models:
        names = ", ".join(fetched_names())
        detail = f"for --model {PREFIX}NAME: {names}" if names else "no model was fetched"
        fix = "hisa models fetch coder-1.5b"
        yield Finding("models", "on this machine", bool(names), False, detail, fix)


def _estimate_memory(settings: ModelSettings) -> Finding:
    """Estimate the memory that a model needs from the header of its file, without loading it."""
    try:
        require_llama()
        spec = build_spec(settings, find_files(settings.model))
    except OperatorError as error:
        return Finding("models", "on this machine", False, True, str(error), error.fix)
    free = free_bytes()
    room = f" of the {gigabytes(free)} that are free" if free is not None else ""
    return Finding(
        "models",
        "on this machine",
        free is None or spec.bytes_needed <= free,
        True,
        f"{settings.model}: about {gigabytes(spec.bytes_needed)} of memory{room}, with "
        f"{spec.context} tokens of context; sees {'pictures' if spec.eyes else 'no pictures'}",
    )
