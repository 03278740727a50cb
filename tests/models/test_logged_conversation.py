"""What a run logs of its models, byte for byte but for times, ports and drawn waits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hisa.config import Settings
from hisa.errors import BudgetExceeded, ModelUnavailable
from hisa.events import Event
from hisa.models.budget import Budget
from hisa.protocols import ModelReply, Usage
from hisa.testing.model_server import FakeServer, Fault, Line
from tests.models.support import SCHEMA, Events, ask, models_of_a_run, picture

STORED = Path(__file__).parent / "logged_conversation.jsonl"
SECRET = "correct horse battery"
MODELS: dict[str, Any] = {
    "planner": {"model": "gpt-5", "effort": "low", "max_retries": 2},
    "state": {"model": "mine", "temperature": 0.5},
    "judge": {"model": "gpt-4o", "max_retries": 1},
}
SCRIPT = [
    Line(Fault("status", status=429, retry_after="1", text="key-of-the-house: slow down")),
    Line(ModelReply("first", Usage(70, 30, cached_in=20, reasoning_out=5), model="gpt-5-2026")),
    Line(Fault("empty"), "state"),
    Line(Fault("html"), "state"),
    Line("the window opened", "state"),
    Line(f"it says {SECRET}", "planner"),
    Line(ModelReply('{"tool": "x"', finish="length"), "planner"),
    Line(Fault("length"), "planner"),
    Line(Fault("no_usage", text="counted by ourselves"), "planner"),
    Line("", "state"),
    Line(Fault("status", status=401, text="who are you"), "judge"),
    Line(Fault("cut_off"), "judge"),
    Line(Fault("no_choices"), "judge"),
]
TOOL = {"type": "function", "name": "wait", "parameters": {"type": "object"}}


async def conversation(server: FakeServer, events: Events) -> None:
    """Every way in which a call ends."""
    settings = Settings.model_validate({"models": MODELS})
    opened = models_of_a_run(
        settings, server.url, events, budget=Budget(tokens=3000), secrets={"door": SECRET}
    )
    async with opened as models:
        planner, state, judge = models["planner"], models["state"], models["judge"]
        await planner.complete(ask(step=0))
        await state.complete(ask("what changed?", role="state"))
        await planner.complete(ask(f"the door opens with {SECRET}", image=picture(3)))
        await planner.complete(ask(schema=SCHEMA))
        await planner.complete(ask(tools=(TOOL,)))
        await state.complete(ask(role="state", may_be_empty=True))
        for _ in range(2):
            with pytest.raises(ModelUnavailable):
                await judge.complete(ask(role="judge"))
        with pytest.raises(BudgetExceeded):
            await planner.complete(ask("too much " * 3000))
    assert not server.left


def line(event: Event, url: str) -> str:
    """An event as it is logged, without what differs from run to run."""
    text = event.model_dump_json().replace(url, "http://server/v1")
    text = re.sub(r'"(turn|corrects)":"[0-9a-f]{10}"', r'"\1":"a turn"', text)
    return re.sub(r'"(at|seconds|retry_in)":[0-9.e-]+', r'"\1":0', text)


async def test_log_of_a_conversation_is_the_stored_one() -> None:
    events = Events()
    with FakeServer(SCRIPT) as server:
        await conversation(server, events)
        lines = [line(event, server.url) for event in events.all]
    assert lines == STORED.read_text(encoding="utf-8").splitlines()
    assert SECRET not in json.dumps([text for text in lines if "model_asked" in text])
