"""The loop's own time per step: everything HiSA does, with models and application taken out.

    python -m benchmarks.loop [--json]

The screens are drawn beforehand; models answer at once, behind the real OpenAI client and an
in-process server, so that encoding, prompts, JSON and the log are all in it.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
from PIL import Image, ImageDraw

from benchmarks.machine import machine
from hisa.actions import Action
from hisa.config import ModelSettings, StateSettings
from hisa.events import StepFinished
from hisa.loop import Loop
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import find
from hisa.models.role_model import CallContext, RoleModel
from hisa.planner.planner import GlobalPlanner
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.runs.run_reader import read_events
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.manager import build_state
from hisa.tasks.scorer import TaskScorer
from hisa.testing.form import FakeEnvironment
from hisa.tools.registry import ToolRegistry

STEPS = 60
GOAL_MS = 20.0
SIZE = Size(1280, 720)
PLAN = json.dumps({"thought": "On.", "tool": "gui_action", "input": "pyautogui.click(400, 300)"})


def screens() -> list[Image.Image]:
    """A spreadsheet-like screen in a few states, so that each step changes a region."""
    base = Image.new("RGB", (SIZE.width, SIZE.height), (245, 245, 245))
    pen = ImageDraw.Draw(base)
    for row in range(0, SIZE.height, 22):
        for column in range(0, SIZE.width, 96):
            pen.rectangle((column, row, column + 96, row + 22), outline=(200, 200, 200))
            pen.text((column + 4, row + 4), f"{row * column % 9973}.{column:02d}", fill="black")
    states = []
    for number in range(4):
        image = base.copy()
        top = 100 + 90 * number
        ImageDraw.Draw(image).rectangle((300, top, 620, top + 80), fill=(90, 120, 220))
        states.append(image)
    return states


class _Slides(FakeEnvironment):
    """A machine whose screen is ready at once."""

    def __init__(self) -> None:
        super().__init__(SIZE)
        self._slides = screens()
        self._shown = 0

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        self._shown += 1
        return Observation(Screenshot(self._slides[self._shown % len(self._slides)]), screen=SIZE)

    async def act(self, actions: Sequence[Action], /) -> None:
        return None


async def _answer(scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
    """An OpenAI-protocol server that has its answer ready."""
    more = True
    planner = dict(scope["headers"]).get(b"x-component") == b"planner"
    while more:
        more = (await receive()).get("more_body", False)
    text = PLAN if planner else "Succeeded. A region changed."
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "instant",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def measure(folder: Path) -> tuple[list[float], list[StepFinished]]:
    """Milliseconds of each step, and their phases."""
    from hisa.plugins.matching.elements import ElementsGrounder

    task = Task("bench", "Click about.")
    client = httpx.AsyncClient(transport=httpx.ASGITransport(_answer), base_url="http://instant/v1")
    profile = find("instant")
    server = OpenAIModel(
        ModelSettings(model="instant"),
        Endpoint("http://instant/v1"),
        profile=profile,
        http_client=client,
    )
    with RunLog.create(folder, task) as log:
        emit = log.emit
        model = RoleModel(server, CallContext(emit), profile=profile)
        tools = ToolRegistry()
        environment = _Slides()
        agent = Loop(
            planner=GlobalPlanner(model, tools, emit=emit),
            grounder=ElementsGrounder(emit=emit, min_score=0.6),
            state=build_state(model, StateSettings(), emit=emit),
            tools=tools,
            environment=environment,
            scorer=TaskScorer(),
            log=log,
        )
        agent.begin(task)
        observation: Observation | None = await environment.observe()
        times = []
        for number in range(1, STEPS + 1):
            log.step = number
            started = time.perf_counter()
            observation, _ = await agent.do_step(observation)
            times.append((time.perf_counter() - started) * 1000)
    await server.aclose()
    finished = [e for e in read_events(log.folder) if isinstance(e, StepFinished)]
    return times, finished


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        times, finished = asyncio.run(measure(Path(folder)))
    phases = {
        name: statistics.median(event.seconds.get(name, 0.0) for event in finished) * 1000
        for name in finished[0].seconds
    }
    median = statistics.median(times)
    if "--json" in sys.argv:
        print(json.dumps({"median_ms": median, "phases_ms": phases}))
        return
    verdict = "met" if median < GOAL_MS else "NOT met"
    size = f"{SIZE.width}x{SIZE.height}"
    print(f"the loop's own time per step at {size}, median of {STEPS} ({machine()})")
    print(f"  step      {median:6.1f} ms   goal < {GOAL_MS:.0f} ms: {verdict}")
    for name, milliseconds in phases.items():
        print(f"  {name:<9} {milliseconds:6.1f} ms")


if __name__ == "__main__":
    main()
