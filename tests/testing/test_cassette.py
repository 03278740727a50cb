from __future__ import annotations

from pathlib import Path

import pytest

from hisa.errors import DeveloperError, ModelUnavailable, ScriptExhausted
from hisa.protocols import ModelReply, ModelRequest, Usage
from hisa.testing.cassette import CassetteMismatch, RecordingModel, ReplayModel
from hisa.testing.scripted import ScriptedModel
from tests.models.support import SCHEMA, ask, picture

_REPLY = ModelReply("ja \u2028 是\n", Usage(3, 4, 2, 1), finish="length", model="m")


async def _recorded(path: Path, *requests: ModelRequest) -> ReplayModel:
    recorder = RecordingModel(ScriptedModel([_REPLY] * len(requests)), path)
    for request in requests:
        assert await recorder.complete(request) == _REPLY
    return ReplayModel(path)


async def test_what_was_recorded_is_replayed(tmp_path: Path) -> None:
    requests = [ask("one", image=picture(1), schema=SCHEMA), ask("two \u2028", step=9)]
    replay = await _recorded(tmp_path / "new" / "c.jsonl", *requests)
    assert replay.left == 2
    assert [await replay.complete(request) for request in requests] == [_REPLY, _REPLY]
    assert replay.left == 0


@pytest.mark.parametrize(
    ("other", "where"),
    [
        (ask("open it", role="state", image=picture(1), schema=SCHEMA), '+ "role": "state"'),
        (ask("close it", image=picture(1), schema=SCHEMA), '+     "text": "close it"'),
        (ask("open it", image=picture(2), schema=SCHEMA), '+     "image": '),
        (ask("open it", schema=SCHEMA), '-     "image": '),
        (ask("open it", image=picture(1)), '+ "schema": null'),
        (ask("open it", image=picture(1), schema={**SCHEMA, "required": []}), '+  "required": []'),
    ],
)
async def test_another_request_shows_the_difference(
    tmp_path: Path, other: ModelRequest, where: str
) -> None:
    request = ask("open it", image=picture(1), schema=SCHEMA)
    replay = await _recorded(tmp_path / "c.jsonl", request)
    with pytest.raises(CassetteMismatch) as caught:
        await replay.complete(other)
    assert "call 1:" in str(caught.value)
    assert where in str(caught.value)
    assert await replay.complete(request) == _REPLY


async def test_running_out(tmp_path: Path) -> None:
    replay = await _recorded(tmp_path / "c.jsonl", ask())
    await replay.complete(ask())
    with pytest.raises(ScriptExhausted, match=r"holds 1 calls.*'planner', step 3"):
        await replay.complete(ask())


async def test_errors_are_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    recorder = RecordingModel(ScriptedModel([ModelUnavailable("down"), "up"]), path)
    with pytest.raises(ModelUnavailable):
        await recorder.complete(ask())
    await recorder.complete(ask())
    assert ReplayModel(path).left == 1


async def test_neither_pictures_nor_secrets_are_in_the_file(tmp_path: Path) -> None:
    path, image = tmp_path / "c.jsonl", picture(7)
    request = ask("use sk-abcdefghijklmnop0123 now", image=image)
    replay = await _recorded(path, request)
    text = path.read_text(encoding="utf-8")
    assert "sk-abcdef" not in text
    assert image.sha256 in text
    assert len(text) < 1000
    assert await replay.complete(request) == _REPLY


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"v": 1, "request": {}, "reply": {}}'])
def test_a_file_that_is_no_cassette(tmp_path: Path, line: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(DeveloperError, match="line 1"):
        ReplayModel(path)
