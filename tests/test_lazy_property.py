"""What is worked out once, and by two threads for two objects at the same time."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hisa
from hisa.config import Settings
from hisa.machine.lazy_property import lazy_property
from hisa.runs.run_reader import load_run
from hisa.screen.png import encode_rgb
from hisa.testing.form import FakeEnvironment
from hisa.testing.model_server import FakeServer
from hisa.testing.scripted import tool_call

_LONG = 20.0


class _Slow:
    def __init__(self, meeting: threading.Barrier) -> None:
        self.meeting = meeting
        self.build_count = 0

    @lazy_property
    def value(self) -> int:
        """A number."""
        self.build_count += 1
        self.meeting.wait(_LONG)
        return self.second_value + 1

    @lazy_property
    def second_value(self) -> int:
        return 40 + self.build_count


def test_two_objects_are_worked_on_at_the_same_time() -> None:
    meeting = threading.Barrier(2)  # each waits inside for the other
    first, second = _Slow(meeting), _Slow(meeting)
    with ThreadPoolExecutor(2) as pool:
        values = list(pool.map(lambda slow: slow.value, (first, second)))
    assert values == [42, 42]


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_a_run_encodes_each_of_its_pictures_once(
    seconds: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The log, the planner's request and the state model's ask for the same ones.

    Where a step is slow it looks once more: another picture of the same pixels.
    """
    monkeypatch.setattr("hisa.looker._now", itertools.count(0.0, seconds).__next__)
    encoded: list[memoryview] = []

    def count_encoding(width: int, height: int, pixels: memoryview, **black: int) -> bytes:
        encoded.append(pixels)
        return encode_rgb(width, height, pixels, **black)

    monkeypatch.setattr("hisa.screen.observation.encode_rgb", count_encoding)
    plan = [
        tool_call("gui_action", "pyautogui.click(400, 136)\npyautogui.write('Ada')"),
        tool_call("termination", "success"),
    ]
    tree = {"patterns": {"enabled": False}, "run": {"folder": tmp_path}}
    with FakeServer([plan[0], "Succeeded. It shows Ada.", plan[1]]) as server:
        roles = {"model": "clever-1", "base_url": server.url}
        models = {"planner": roles, "state": roles}
        settings = Settings.model_validate(tree | {"models": models})
        result = hisa.run_sync("Put Ada in.", settings=settings, environment=FakeEnvironment())
    assert result.status == "succeeded"
    sent = [image for request in server.requests for image in request.images]
    paths = list(result.folder.glob("images/*.png"))
    assert len(paths) == 2
    assert len(sent) == 4  # the state model gets two parts of them
    assert len({id(pixels) for pixels in encoded}) == len(encoded), "each picture has its own rows"
    assert len({bytes(pixels) for pixels in encoded}) == 4
    looks = [event for event in load_run(result.folder).events if event.type == "observed"]
    assert (len(looks) > 2) == (seconds > 1)
    assert len(encoded) == len(looks) + 2
