"""OpenEnv's ``TrainingTrace``, schema version 1: one entry per engine call, with its tokens.

Only turns with the server's own token ids and log-probs are samples; nothing is tokenised here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hisa.cli.out import say
from hisa.errors import UsageError
from hisa.runs.run_reader import Run
from hisa.runs.turns import Turn

__all__ = ["to_trace", "write_trace"]

_BESIDE = {"id", "request", "reply", "finish", "tokens"}
"""Fields of a turn that have their own place in an entry; the others go into its metadata."""


def to_trace(turns: Iterable[Turn]) -> dict[str, Any]:
    """Returns the trace of turns, as `openenv.core.harness.training.TrainingTrace` takes it.

    Raises:
        UsageError: a turn lacks some of its tokens.
    """
    return {"schema_version": 1, "turns": [_entry(turn) for turn in turns]}


def _entry(turn: Turn) -> dict[str, Any]:
    tokens = turn.require_trainable()
    assert tokens.prompt_ids
    assert tokens.reply_ids
    assert tokens.logprobs
    return {
        "node_id": turn.id,
        "prompt_token_ids": list(tokens.prompt_ids),
        "completion_token_ids": list(tokens.reply_ids),
        "per_token_logps": list(tokens.logprobs),
        "loss_mask": [0] * len(tokens.prompt_ids) + [1] * len(tokens.reply_ids),
        "request": turn.request,
        "response": {"text": turn.reply, "finish_reason": turn.finish},
        "metadata": {"hisa": turn.model_dump(mode="json", exclude=_BESIDE)},
    }


def write_trace(turns: list[Turn], runs: list[Run], path: Path) -> Path:
    """Write the turns that have their tokens as a trace; says which are left out.

    Args:
        turns: the model calls of all runs, in order.
        runs: not used; a trace does not separate runs.
        path: the file to write.

    Raises:
        UsageError: no turn has its tokens, or the file cannot be written.
    """
    fit, last = [], None
    for turn in turns:
        try:
            turn.require_trainable()
        except UsageError as error:
            last = error
            say(f"left out: {error}", err=True)
        else:
            fit.append(turn)
    if not fit:
        raise last or UsageError("there is no model call to export", fix="hisa runs ls")
    return write_json(to_trace(fit), path)


def write_json(value: Any, path: Path) -> Path:
    """Write a value as JSON.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, ensure_ascii=False), "utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"cannot write {str(path)!r}: {error.strerror}", fix="choose another file with -o FILE"
        ) from error
    return path
