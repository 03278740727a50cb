"""OpenTelemetry's spans for generative AI, as one file of OTLP's JSON encoding.

Names are those of the semantic conventions for GenAI, version 1.38.0 (their state is
"development"). What was sent and said is left out unless ``HISA_OTEL_CONTENTS=true`` asks for it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hisa.errors import UsageError
from hisa.plugins.exports.openenv_trace import write_json
from hisa.runs.read import Run
from hisa.runs.turns import Turn
from hisa.version import __version__

__all__ = ["CONVENTIONS", "spans_of", "write_spans"]

CONVENTIONS = "1.38.0"
_SCHEMA = f"https://opentelemetry.io/schemas/{CONVENTIONS}"
_CLIENT, _INTERNAL = 3, 1


def spans_of(run: Run, turns: list[Turn], *, contents: bool) -> dict[str, Any]:
    """The run as a span ``invoke_agent hisa``, and below it each model call as a span ``chat``.

    Args:
        run: for its times.
        turns: its model calls.
        contents: whether what was sent and said is told.
    """
    trace, root = _digits(run.id, 32), _digits(f"{run.id} root", 16)
    begun = run.manifest.started_at
    last = run.events[-1].at if run.events else begun
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "hisa",
        "gen_ai.conversation.id": run.id,
        "hisa.outcome": run.status,
        "hisa.score": run.score,
    }
    spans = [_span("invoke_agent hisa", (trace, root, ""), (begun, last), agent, kind=_INTERNAL)]
    times = {event.turn: event.at for event in run.events if event.type == "model_asked"}
    for turn in turns:
        start = times.get(turn.id, begun)
        ids = trace, _digits(f"{run.id} {turn.id}", 16), root
        name = f"chat {turn.model}"
        attributes = _attributes(turn, contents=contents)
        spans.append(
            _span(name, ids, (start, start + turn.seconds), attributes, failed=turn.failure)
        )
    resource = {"service.name": "hisa", "service.version": __version__}
    scope = {"name": "hisa", "version": __version__}
    return {
        "resource": {"attributes": _listed(resource)},
        "scopeSpans": [{"scope": scope, "spans": spans, "schemaUrl": _SCHEMA}],
        "schemaUrl": _SCHEMA,
    }


def _attributes(turn: Turn, *, contents: bool) -> dict[str, Any]:
    request, usage = turn.request, turn.usage
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": turn.model,
        "gen_ai.response.model": turn.served or None,
        "gen_ai.request.temperature": request.get("temperature"),
        "gen_ai.request.top_p": request.get("top_p"),
        "gen_ai.request.seed": request.get("seed"),
        "gen_ai.request.max_tokens": request.get("max_tokens")
        or request.get("max_completion_tokens")
        or request.get("max_output_tokens"),
        "gen_ai.response.finish_reasons": [turn.finish] if turn.finish else None,
        "gen_ai.response.id": turn.id,
        "gen_ai.usage.input_tokens": usage.tokens_in if usage else None,
        "gen_ai.usage.output_tokens": usage.tokens_out if usage else None,
        "error.type": turn.failure.partition(":")[0] or None,
        "hisa.role": turn.role,
        "hisa.step": turn.step,
        "hisa.refused": bool(turn.refused),
    }
    if contents:
        sent = request.get("messages") or request.get("input") or []
        reply = [{"role": "assistant", "parts": [{"type": "text", "content": turn.reply or ""}]}]
        attributes["gen_ai.input.messages"] = json.dumps(sent, ensure_ascii=False)
        attributes["gen_ai.output.messages"] = json.dumps(reply, ensure_ascii=False)
    return attributes


def _span(
    name: str,
    ids: tuple[str, str, str],
    times: tuple[float, float],
    attributes: Mapping[str, Any],
    *,
    kind: int = _CLIENT,
    failed: str = "",
) -> dict[str, Any]:
    trace, own, parent = ids
    return {
        "traceId": trace,
        "spanId": own,
        "parentSpanId": parent,
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(int(times[0] * 1e9)),
        "endTimeUnixNano": str(int(times[1] * 1e9)),
        "attributes": _listed(attributes),
        "status": {"code": 2, "message": failed} if failed else {},
    }


def _digits(text: str, count: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:count]


def _listed(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = {key: value for key, value in attributes.items() if value is not None}
    return [{"key": key, "value": _value(value)} for key, value in given.items()]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}


def write_spans(turns: list[Turn], runs: list[Run], path: Path) -> Path:
    """Write the runs as one ``ExportTraceServiceRequest``, which collectors take.

    Raises:
        UsageError: there is nothing to write, or the file cannot be written.
    """
    if not turns:
        raise UsageError("there is no model call to export", fix="hisa runs ls")
    contents = os.environ.get("HISA_OTEL_CONTENTS", "").lower() == "true"
    resources = [
        spans_of(run, [turn for turn in turns if turn.run == run.id], contents=contents)
        for run in runs
    ]
    return write_json({"resourceSpans": resources}, path)
