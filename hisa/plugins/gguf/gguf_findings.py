"""What ``hisa doctor`` says of models on this machine: ``doctor.models`` of ``hisa.commands``."""

from __future__ import annotations

from collections.abc import Iterator

from hisa.cli.findings import Finding
from hisa.config import ModelSettings, Settings
from hisa.errors import OperatorError
from hisa.plugins.gguf.host_memory import free_bytes, gigabytes
from hisa.plugins.gguf.model_names import PREFIX, fetched_names

__all__ = ["models"]


def models(settings: Settings) -> Iterator[Finding]:
    """Yields what each model of the settings takes, measured; or which models are here."""
    sections = settings.models
    chosen = (sections.planner, sections.state, sections.grounder, sections.judge)
    ours = dict.fromkeys(one for one in chosen if one and one.model.startswith(PREFIX))
    for one in ours:
        yield _measured(one)
    if not ours:
        names = ", ".join(fetched_names())
        detail = f"for --model {PREFIX}NAME: {names}" if names else "no model was fetched"
        yield Finding(
            "models", "on this machine", bool(names), False, detail, "hisa models fetch coder-1.5b"
        )


def _measured(settings: ModelSettings) -> Finding:
    """Start the model's server, measure it for about three seconds, and end it."""
    import httpx

    from hisa.plugins.gguf import llama_server
    from hisa.plugins.gguf.gguf_model import require_llama, wanted_server
    from hisa.plugins.gguf.model_names import find_files
    from hisa.plugins.gguf.server_speed import measure_speed

    place = ("models", "on this machine")
    try:
        require_llama()
        wanted = wanted_server(settings, find_files(settings.model))
        server = llama_server.use(wanted)
        try:
            speed = measure_speed(server.ready().result())
        finally:
            llama_server.release(server, linger=0.0)
    except OperatorError as error:
        return Finding(*place, False, True, str(error), error.fix)
    except (httpx.HTTPError, ValueError) as error:
        return Finding(*place, False, True, f"{settings.model}: its speed is not known: {error}")
    free = free_bytes()
    eyes = "sees pictures" if wanted.eyes else "sees no pictures"
    room = f" of the {gigabytes(free)} that are free" if free is not None else ""
    return Finding(
        *place, True, True,
        f"{settings.model}: about {gigabytes(wanted.bytes_needed)} of memory{room}, with "
        f"{wanted.context} tokens of context; reads {speed.read:.0f} tokens a second, writes "
        f"{speed.written:.1f}; {eyes}",
    )  # fmt: skip
