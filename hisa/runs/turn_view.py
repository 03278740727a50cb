"""Shows model calls in a terminal: one line each, or one in full with the files of its pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hisa.runs.run_reader import Run
from hisa.runs.turns import Turn, find_turn, turns
from hisa.runs.wording import one_line

__all__ = ["show_turns"]


def show_turns(run: Run, name: str | None, *, as_json: bool) -> Iterator[str]:
    """Yields the lines of one model call, or one line for each call.

    Args:
        run: the run that made the calls.
        name: the name of the call to show in full, or its beginning; None: one line for each.
        as_json: whether to yield JSON instead.

    Raises:
        UsageError: no call has that name, or several names begin with it.
    """
    chosen = [find_turn(run, name)] if name is not None else list(turns(run))
    if as_json:
        yield from (turn.model_dump_json() for turn in chosen)
    elif name is not None:
        yield from _show_turn(run, chosen[0])
    else:
        yield from map(_line, chosen)


def _line(turn: Turn) -> str:
    tokens = f"{turn.usage.tokens_in:,} + {turn.usage.tokens_out:,} tokens" if turn.usage else ""
    end = turn.failure or (f"refused: {turn.refused}" if turn.refused else turn.reply or "")
    return f"{turn.id}  step {turn.step}  {turn.role:8}  {tokens}  {one_line(end, 80)}"


def _show_turn(run: Run, turn: Turn) -> Iterator[str]:
    about = turn.model_dump(exclude={"request", "reply", "tokens"}, exclude_defaults=True)
    yield from (f"{key}: {_short(value)}" for key, value in about.items())
    if turn.tokens is not None:
        tokens = turn.tokens
        counts = {"prompt ids": tokens.prompt_ids, "reply ids": tokens.reply_ids}
        counts["log-probs"] = tokens.logprobs  # type: ignore[assignment]
        parts = (f"{len(ids)} {name}" for name, ids in counts.items() if ids is not None)
        yield f"tokens: {', '.join(parts)}"
    for key, value in turn.request.items():
        if key in ("messages", "input"):
            for message in value:
                yield from _message(run, message)
        else:
            yield f"{key}: {_short(value)}"
    yield "--- reply"
    yield turn.reply if turn.reply is not None else f"(none: {turn.failure})"


def _message(run: Run, message: dict[str, Any]) -> Iterator[str]:
    yield f"--- {message.get('role') or message.get('type')}"
    content = message.get("content", message)
    if isinstance(content, str):
        yield content
        return
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part.get("text"), str):
            yield part["text"]
        else:
            yield _show_part(run, part)


def _show_part(run: Run, part: dict[str, Any]) -> str:
    """Returns a part of a message that is not text; for a picture, its file."""
    address = part.get("image_url", part)
    address = address.get("url", address) if isinstance(address, dict) else address
    name = address.get("$image") if isinstance(address, dict) else None
    return str(run.image(name) or f"(no picture {name})") if name else _short(part)


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
