"""Halves of characters, control characters and turned reading order end at the planner's border."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.errors import InvalidReply
from hisa.events import PlanRejected
from hisa.planner.reply import parse_reply
from hisa.protocols import ModelRequest
from hisa.testing.scripted import FunctionModel, ScriptedModel
from tests.bench import Bench, finish, say

BROKEN = ["\ud800", "\udfff", "\x00", "\x1b", "\u202e", "\u2066", "\x7f", "\ufeff"]


@pytest.mark.parametrize("wrong", BROKEN)
@pytest.mark.parametrize("escaped", [True, False])
async def test_a_run_survives_them_wherever_they_stand(
    tmp_path: Path, wrong: str, escaped: bool
) -> None:
    def reply(**fields: object) -> str:
        return json.dumps(fields, ensure_ascii=escaped)

    planner = ScriptedModel(
        [
            reply(thought=f"So{wrong}.", tool="wait", input="0"),
            reply(thought="x", tool=f"wai{wrong}t", input="0"),
            reply(thought="x", tool="gui_action", input=f"pyautogui.write('a{wrong}b')"),
            reply(thought="x", tool="bash_execution", input=f"echo {wrong}"),
            reply(thought="y", tool="wait", input="0", description=f"a{wrong}", **{wrong: 1}),
            wrong,
            reply(thought="y", tool="wait", input="0", description=f"a{wrong}"),
            finish("Done."),
        ]
    )

    def state(request: ModelRequest) -> str:
        return f"Succeeded. It{wrong} changed.\x00"

    bench = Bench(tmp_path, planner, state=FunctionModel(state))
    result, run = await bench.run()
    assert result.status in ("succeeded", "model_error")
    rejected = [event for event in run.events if isinstance(event, PlanRejected)]
    assert len(rejected) >= 3
    for line in (bench.log.folder / "events.jsonl").read_text("utf-8").splitlines():
        assert not [text for text in _strings(json.loads(line)) if wrong in text]
    for request in planner.requests:
        assert wrong not in request.text


@pytest.mark.parametrize("wrong", BROKEN)
def test_broken_character_is_refused_in_input_and_removed_from_prose(wrong: str) -> None:
    call = parse_reply(say("wait", "1", description=f"a{wrong}b", thought=f"c{wrong}d"))
    assert wrong not in call.thought + call.description
    assert call.thought[0] + call.thought[-1] == "cd"
    for value in (f"ls {wrong}", {"a": [{"b": f"{wrong}"}]}, {f"{wrong}": 1}):
        with pytest.raises(InvalidReply, match=f"U\\+{ord(wrong):04X}"):
            parse_reply(json.dumps({"thought": "x", "tool": "any", "input": value}))


def _strings(value: object) -> Iterator[str]:
    """Every string of a decoded JSON value."""
    match value:
        case str():
            yield value
        case dict():
            for item in (*value, *value.values()):
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case _:
            pass
