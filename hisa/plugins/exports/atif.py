"""Harbor's Agent Trajectory Interchange Format, ATIF-v1.8: a model call is a step of the agent.

What the model was shown comes before it as a step of the user, with pictures as paths of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hisa.errors import UsageError
from hisa.plugins.exports.openenv_trace import write_json
from hisa.protocols import TurnTokens, Usage
from hisa.runs.run_reader import Run
from hisa.runs.turns import Turn
from hisa.version import __version__

__all__ = ["to_atif", "write_atif"]

_VERSION = "ATIF-v1.8"
_BESIDE = {"reply", "usage", "usd", "tokens"}
"""Fields of a turn that have their own place in a step; the others go into ``extra``."""


def to_atif(turns: Iterable[Turn], *, run: str, models: Mapping[str, str]) -> dict[str, Any]:
    """Returns the trajectory of a run's turns.

    Args:
        turns: the model calls, in order; at least one.
        run: the run's id.
        models: role to the name of its model.
    """
    steps: list[dict[str, Any]] = []
    for turn in turns:
        steps += _steps(turn, len(steps) + 1)
    name = models.get("planner", "")
    return {
        "schema_version": _VERSION,
        "session_id": run,
        "agent": {"name": "hisa", "version": __version__} | ({"model_name": name} if name else {}),
        "steps": steps,
    }


def _steps(turn: Turn, number: int) -> Iterator[dict[str, Any]]:
    yield {"step_id": number, "source": "user", "message": _message(turn)}
    usage, answered = turn.usage or Usage(), turn.reply is not None
    tokens = turn.tokens or TurnTokens()
    metrics = {
        "prompt_tokens": usage.tokens_in if turn.usage else None,
        "completion_tokens": usage.tokens_out if turn.usage else None,
        "cached_tokens": usage.cached_in if turn.usage else None,
        "cost_usd": turn.usd,
        "prompt_token_ids": tokens.prompt_ids,
        "completion_token_ids": tokens.reply_ids,
        "logprobs": tokens.logprobs,
        "extra": {"reasoning_tokens": usage.reasoning_out} if turn.usage else None,
    }
    present_metrics = {name: value for name, value in metrics.items() if value is not None}
    yield {
        "step_id": number + 1,
        "source": "agent",
        "model_name": turn.model,
        "message": turn.reply or "",
        "llm_call_count": 1,
        **({"metrics": _plain(present_metrics)} if present_metrics else {}),
        "extra": {"hisa": turn.model_dump(mode="json", exclude=_BESIDE), "answered": answered},
    }


def _plain(metrics: dict[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in metrics.items()}


def _message(turn: Turn) -> list[dict[str, Any]]:
    """Returns the last message that was sent, with pictures as files beside the run's log."""
    sent = turn.request.get("messages") or turn.request.get("input") or []
    content = sent[-1].get("content", "") if isinstance(sent[-1], dict) else ""
    parts: list[dict[str, Any]] = []
    for part in [{"text": content}] if isinstance(content, str) else content:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            parts.append({"type": "text", "text": part["text"]})
    files = [{"media_type": "image/png", "path": f"images/{name}.png"} for name in turn.pictures]
    return parts + [{"type": "image", "source": file} for file in files] or [
        {"type": "text", "text": ""}
    ]


def write_atif(turns: list[Turn], runs: list[Run], path: Path) -> Path:
    """Write a trajectory per run; those of several runs go into a folder.

    Args:
        turns: the model calls of all runs, in order.
        runs: the runs; those without a call are left out.
        path: the file to write, or the folder if several runs have calls.

    Raises:
        UsageError: there is nothing to write, or a file cannot be written.
    """
    by_run = {run.id: [turn for turn in turns if turn.run == run.id] for run in runs}
    exportable = {run: chosen for run, chosen in by_run.items() if chosen}
    if not exportable:
        raise UsageError("there is no model call to export", fix="hisa runs ls")
    models = {run.id: run.manifest.models for run in runs}
    files = [path] if len(exportable) == 1 else [path / f"{run}.json" for run in exportable]
    for file, (run, chosen) in zip(files, exportable.items(), strict=True):
        write_json(to_atif(chosen, run=run, models=models[run]), file)
    return path
