"""What ``hisa doctor`` says of models on this machine: ``doctor.models`` of ``hisa.commands``."""

from __future__ import annotations

from collections.abc import Iterator

import httpx

from hisa.cli.findings import Finding
from hisa.config import ModelSettings, ModelsSettings
from hisa.errors import OperatorError
from hisa.machine.patience import patience
from hisa.models.endpoint import Endpoint
from hisa.plugins.gguf import llama_server
from hisa.plugins.gguf.gguf_model import require_llama, wanted_server
from hisa.plugins.gguf.host_memory import free_bytes, gigabytes
from hisa.plugins.gguf.model_names import PREFIX, fetched_names, find_files

__all__ = ["measure_speed", "models"]

_SECONDS = 1.2
"""For reading and for writing; the first small question makes up the third second."""
_FIRST, _MOST = 24, 1024
"""Words of the first prompt, by which the second is chosen, and of the longest."""


def models(roles: ModelsSettings) -> Iterator[Finding]:
    """Yields what each model of the settings takes, measured; or which models are here."""
    chosen = (roles.planner, roles.state, roles.grounder, roles.judge)
    ours = dict.fromkeys(role for role in chosen if role and role.model.startswith(PREFIX))
    yield from map(_measured, ours)
    if not ours:
        names = ", ".join(fetched_names())
        detail = f"for --model {PREFIX}NAME: {names}" if names else "no model was fetched"
        fix = "hisa models fetch coder-1.5b"
        yield Finding("models", "on this machine", bool(names), False, detail, fix)


def _measured(settings: ModelSettings) -> Finding:
    """Start the model's server, measure it for about three seconds, and end it."""
    place = ("models", "on this machine")
    try:
        require_llama()
        wanted = wanted_server(settings, find_files(settings.model))
        server = llama_server.use(wanted)
        try:
            read, written = measure_speed(server.ready().result())
        finally:
            llama_server.release(server, linger=0.0)
    except OperatorError as error:
        return Finding(*place, False, True, str(error), error.fix)
    except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
        return Finding(*place, False, True, f"{settings.model}: its speed is not known: {error!r}")
    free = free_bytes()
    room = f" of the {gigabytes(free)} that are free" if free is not None else ""
    return Finding(
        *place,
        True,
        True,
        f"{settings.model}: about {gigabytes(wanted.bytes_needed)} of memory{room}, with "
        f"{wanted.context} tokens of context; reads {read:.0f} tokens a second, writes "
        f"{written:.1f}; sees {'pictures' if wanted.eyes else 'no pictures'}",
    )


def measure_speed(endpoint: Endpoint) -> tuple[float, float]:
    """Ask a server of llama.cpp twice; returns the tokens a second that it reads, and writes.

    Raises:
        httpx.HTTPError: it does not answer.
        KeyError, TypeError, ValueError: its answer tells no times.
    """
    read, _ = _timed(endpoint, " a" * _FIRST, 1)
    words = int(min(_MOST, max(2 * _FIRST, read * _SECONDS)))
    return _timed(endpoint, " b" * words, 256)


def _timed(endpoint: Endpoint, prompt: str, tokens: int) -> tuple[float, float]:
    body = {
        "prompt": prompt,
        "n_predict": tokens,
        "t_max_predict_ms": 1000 * _SECONDS,
        "ignore_eos": True,
        "cache_prompt": False,
        "temperature": 0,
    }
    answer = httpx.post(
        f"{endpoint.url.removesuffix('/v1')}/completion",
        json=body,
        trust_env=False,
        headers={"Authorization": f"Bearer {endpoint.api_key}"},
        timeout=patience(30),
    ).raise_for_status()
    timings = answer.json()["timings"]
    return float(timings["prompt_per_second"]), float(timings["predicted_per_second"])
