"""A tiny language model, runs that a teacher played for it, and replies that a server gave."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hisa.config import ModelSettings
from hisa.plugins.benchmarks.bench.jobs import RunEnded, perform
from hisa.plugins.gguf.gguf_model import GgufModel
from hisa.protocols import Message, ModelReply, ModelRequest, TextPart
from hisa.runs.turns import Turn
from hisa.testing import FunctionModel
from tests.plugins.benchmarks.bench_suite.forms import job

PROMPT = "What is the next step?"


def play_teacher(folder: Path, names: Iterable[str]) -> Path:
    """Fill in the form in memory once for each name, by replies in the short form."""

    async def play(name: str) -> None:
        replies: Iterator[str] = iter(
            (
                f'{{"action": "type", "element": 1, "text": "{name}"}}',
                '{"action": "click", "element": 4}',
                '{"action": "done"}',
            )
        )
        own = job(folder, name)
        settings = dict(own.settings)
        settings["planner"] |= {"kind": "short", "sees": "elements", "sequence": 1}
        settings["state"] |= {"steps": "raw", "refine": "window"}
        teacher = FunctionModel(lambda request: next(replies))
        async for message in perform(
            own.model_copy(update={"settings": settings}), {"planner": teacher}
        ):
            if isinstance(message, RunEnded):
                assert message.score == 1, message

    async def play_all() -> None:
        for name in names:
            await play(name)

    asyncio.run(play_all())
    return folder / "runs"


def ask(model: str, seeds: Iterable[int], **settings: Any) -> list[ModelReply]:
    """Ask a served model the same question once for each seed, with token ids and log-probs."""

    async def ask_all() -> list[ModelReply]:
        replies = []
        for seed in seeds:
            own = {"tokens": True, "max_tokens": 40, "temperature": 1.0, "seed": seed, "threads": 1}
            served = GgufModel(ModelSettings.model_validate({"model": model, **own, **settings}))
            request = ModelRequest("planner", (Message("user", (TextPart(PROMPT),)),))
            replies.append(await served.complete(request))
            await served.aclose()
        return replies

    return asyncio.run(ask_all())


def as_turn(reply: ModelReply, *, refused: str = "", **request: Any) -> Turn:
    """The reply to `PROMPT` as a turn of a log."""
    body = {"temperature": 1.0, "messages": [{"role": "user", "content": PROMPT}], **request}
    return Turn(
        id="t",
        run="r",
        task="task",
        step=1,
        role="planner",
        model="m",
        api="chat",
        request=body,
        reply=reply.text,
        finish=reply.finish,
        usage=reply.usage,
        tokens=reply.tokens,
        refused=refused,
    )
