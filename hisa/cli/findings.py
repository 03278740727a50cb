"""What ``hisa doctor`` checks besides the machine: libraries, models, prompts, patterns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

    from hisa.config import (
        GrounderSettings,
        ModelSettings,
        ModelsSettings,
        PatternSettings,
        PromptSettings,
    )
    from hisa.models.endpoint import Endpoint

__all__ = ["Finding", "models", "parts", "places", "prompts"]

_ANSWER_SECONDS = 5.0
"""A working server lists its models in milliseconds, and a person waits for this."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked; ``needed`` if the present settings cannot do without it."""

    area: str
    name: str
    ok: bool
    needed: bool
    detail: str
    fix: str = ""


def parts(settings: PatternSettings) -> Iterator[Finding]:
    """Yields a finding for each optional part of Python packages: installed or not."""
    from hisa.machine.parts import PARTS, install_command, list_missing

    embedder_part = {"minilm": "minilm", "bge-m3": "bge"}.get(settings.embedder)
    needed = embedder_part if settings.enabled else None
    for name, part in PARTS.items():
        if part.script:
            continue  # what these install is checked piece by piece
        lacking = list_missing(name)
        detail = part.summary if not lacking else f"{part.summary}: without {', '.join(lacking)}"
        fix = install_command(name) if lacking else ""
        yield Finding("packages", name, not lacking, name == needed, detail, fix)


def models(settings: ModelsSettings) -> Iterator[Finding]:
    """Query the server of each role's own model; yields a finding for each."""
    from hisa.errors import OperatorError, PluginFailed
    from hisa.machine.plugins import find, source
    from hisa.models.announced_model import find_announced

    for role in ("planner", "state", "grounder", "judge"):
        chosen: ModelSettings | None = getattr(settings, role)
        if chosen is None:
            continue
        point = find("models", chosen.model)
        if point is None:
            yield _model(role, chosen)
            continue
        try:
            announced_model = find_announced(chosen.model)
        except (OperatorError, PluginFailed) as error:
            fix = getattr(error, "fix", f"pip install --upgrade {source(point)}")
            yield Finding("models", role, False, True, str(error), fix)
            continue
        if announced_model is not None and announced_model.by_rules:
            yield Finding("models", role, True, True, f"{announced_model.title}; needs nothing")
        else:
            yield Finding(
                "models", role, True, True, f"{chosen.model} from package {source(point)}"
            )


_WAYS = {
    "cascade": "the elements if they are sure, else {model}, whose points they check",
    "choice": "the elements if they are sure, else {model} picks from a list in words",
    "elements": "the elements: accessibility and OCR, no model",
    "planner": "the planner's own coordinates, checked by the elements",
    "vision": "{model} alone",
}


def places(settings: GrounderSettings, models: ModelsSettings) -> Finding:
    """Returns which grounder these settings choose; no server is queried."""
    from hisa.errors import OperatorError, PluginFailed
    from hisa.models.announced_model import find_announced
    from hisa.models.profiles import find
    from hisa.wiring import grounder_kind

    chosen = models.grounder or models.planner
    try:
        kind = grounder_kind(settings, models, find(chosen.model, chosen.profile))
        announced_model = find_announced(chosen.model)
    except (OperatorError, PluginFailed) as error:
        return Finding("models", "places", False, True, str(error))
    able = (
        announced_model is None or not announced_model.by_rules or kind in ("elements", "planner")
    )
    detail = f"{settings.kind}: {_WAYS[kind].format(model=chosen.model)}"
    fix = "--set models.grounder.model=NAME --set models.grounder.base_url=http://HOST:PORT/v1"
    if not able:
        return Finding("models", "places", False, True, f"{detail}, which cannot see", fix)
    return Finding("models", "places", True, True, detail)


def _model(role: str, chosen: ModelSettings) -> Finding:
    from hisa.errors import OperatorError
    from hisa.models.connection import connecting
    from hisa.models.endpoint import resolve
    from hisa.models.profiles import find

    try:
        profile = find(chosen.model, chosen.profile)
        endpoint = resolve(chosen, os.environ)
        with connecting(endpoint):
            problem, fix = _query_models(endpoint, chosen)
    except OperatorError as error:
        return Finding("models", role, False, True, str(error), error.fix)
    detail = f"{chosen.model} at {endpoint.url}, profile {profile.name}"
    return Finding(
        "models", role, not problem, True, f"{detail}: {problem}" if problem else detail, fix
    )


def _query_models(endpoint: Endpoint, chosen: ModelSettings) -> tuple[str, str]:
    """Ask the server for its models; returns the problem and its fix, both empty if all is well."""
    import httpx

    from hisa.machine.patience import patience
    from hisa.models.connection import auth_headers, http_options

    try:
        answer = httpx.get(
            endpoint.address("models"),
            headers=auth_headers(endpoint),
            timeout=patience(_ANSWER_SECONDS),
            **http_options(endpoint),
        )
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        return f"no response: {reason}", "start the server, or export OPENAI_BASE_URL=…"
    if answer.status_code in (401, 403):
        return f"rejects the key (HTTP {answer.status_code})", f"export {chosen.api_key_env}=…"
    served = _read_model_names(answer)
    if served and chosen.model not in served:
        shown = ", ".join(sorted(served)[:5]) + (", …" if len(served) > 5 else "")
        return f"does not serve {chosen.model!r}, but {shown}", f"--model {min(served)}"
    return "", ""


def _read_model_names(answer: httpx.Response) -> set[str]:
    """Returns the names in an OpenAI-protocol list of models; empty if the answer is no list."""
    try:
        rows = answer.json()["data"]
        return {str(row["id"]) for row in rows}
    except (ValueError, KeyError, TypeError):
        return set()


def prompts(settings: PromptSettings) -> Iterator[Finding]:
    """Yields where the shipped prompts are, and a finding for each file of the user's own."""
    from hisa.errors import ConfigError
    from hisa.models.tokens import estimate_tokens
    from hisa.text.prompts import Prompts, data_folder

    files = Prompts(settings.folder)
    place = f"{len(files.shipped)} files in {data_folder('prompts')}"
    yield Finding("prompts", "shipped", True, True, place)
    try:
        own = files.own
    except ConfigError as error:
        yield Finding("prompts", "your own", False, True, str(error), error.fix)
        return
    for name, text in own.items():
        more = estimate_tokens(text) - estimate_tokens(files.shipped[name])
        differs = f"{abs(more)} tokens {'more' if more >= 0 else 'fewer'} than the shipped one"
        detail = "same as shipped" if text == files.shipped[name] else differs
        yield Finding("prompts", name, True, True, f"{settings.folder}: {detail}")
