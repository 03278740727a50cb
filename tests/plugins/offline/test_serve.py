"""The OpenAI protocol, spoken with the real client, and whole episodes over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest

from hisa.config import Settings
from hisa.events import Event, Grounded, Planned
from hisa.models.budget import Budget
from hisa.models.open_models import open_models
from hisa.models.spending import Ledger
from hisa.models.tokens import estimate_tokens
from hisa.planner.planner import GlobalPlanner
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.plugins.offline.serve import BASE_URL, MODEL, http_client
from hisa.protocols import StateView, Task
from hisa.screen.observation import Observation
from hisa.state.manager import build_state
from hisa.testing.form import FakeEnvironment
from hisa.tools.registry import ToolRegistry
from tests.plugins.offline.talk import PLANNER, sections

MESSAGES: list[Any] = [
    {"role": "system", "content": PLANNER},
    {"role": "user", "content": sections(task="Press F5.")},
]
BODY: dict[str, Any] = {"model": MODEL, "messages": MESSAGES}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with http_client() as opened:
        yield opened


async def test_the_openai_client_gets_an_answer_and_an_honest_usage() -> None:
    transport: Any = http_client()
    async with openai.AsyncOpenAI(
        base_url=BASE_URL, api_key="none", http_client=transport, max_retries=0
    ) as opened:
        reply = await opened.chat.completions.create(model=MODEL, messages=MESSAGES)
        assert [model.id async for model in opened.models.list()] == [MODEL]
    text = reply.choices[0].message.content or ""
    assert "pyautogui.press('f5')" in text
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.completion_tokens == estimate_tokens(text)
    assert reply.usage.prompt_tokens == sum(estimate_tokens(m["content"]) for m in MESSAGES)
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({**BODY, "model": "gpt-5"}, 404, "gpt-5"),
        ({"model": MODEL}, 400, "messages"),
        ({**BODY, "messages": []}, 400, "messages"),
        ({**BODY, "messages": [{"role": "robot", "content": "x"}]}, 400, "role"),
        ({**BODY, "messages": [{"role": "user", "content": 5}]}, 400, "content"),
        ({**BODY, "messages": [{"role": "user", "content": "hi"}]}, 400, "unknown job"),
        ({**BODY, "messages": MESSAGES[:1]}, 400, "user message"),
        ({**BODY, "stream": True}, 400, "stream"),
        ({**BODY, "n": 2}, 400, "'n'"),
        ({**BODY, "max_tokens": 0}, 400, "max_tokens"),
        ([1], 400, "JSON object"),
    ],
)
async def test_bad_input_is_refused_in_the_protocols_form(
    client: httpx.AsyncClient, body: Any, status: int, message: str
) -> None:
    reply = await client.post("/chat/completions", json=body)
    assert reply.status_code == status
    error = reply.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert message in error["message"]


async def test_server_refuses_invalid_json_and_unknown_routes(client: httpx.AsyncClient) -> None:
    assert (await client.post("/chat/completions", content=b"{")).status_code == 400
    assert (await client.post("/chat/completions", content=b"[" * 100_000)).status_code == 400
    assert (await client.get("/chat/completions")).status_code == 405
    assert (await client.get("/embeddings")).status_code == 404


class Run:
    """An episode of real parts around the fake form."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.environment = FakeEnvironment()
        self.status = ""
        self.final = StateView()

    def emit(self, event: Event, /) -> None:
        self.events.append(event)

    async def go(self, text: str, *, steps: int = 40) -> Run:
        settings = Settings()
        task = Task("t", text)
        async with (
            open_models(
                settings.models, settings.planner, self.emit, Budget(), Ledger(), environ={}
            ) as models,
            self.environment,
        ):
            tools = ToolRegistry()
            planner = GlobalPlanner(models["planner"], tools, emit=self.emit, reads_elements=True)
            grounder = ElementsGrounder(emit=self.emit)
            state = build_state(models["state"], settings.state, emit=self.emit)
            for _ in range(steps):
                before = await self._look()
                view = state.view()
                call = await planner.plan(task, before, view)
                grounded = await grounder.resolve(call, before)
                outcome = await tools.execute(grounded, before, self.environment)
                if outcome.ends:
                    self.status = outcome.ends
                    break
                await state.abstract(grounded, before, await self._look(), outcome)
                await state.refine_if_due(task)
            self.final = state.view()
        return self

    async def _look(self) -> Observation:
        return await self.environment.observe(elements=True)


FORM = (
    'Click the Name field. Type "Ada Lovelace – ❤". Check the "Agree" checkbox. Press End. '
    "Click the OK button. Press Tab twice. Click the Save button. "
    'Enter " & more" in the Name field. Press F5. Click the "Save" button.'
)


async def test_an_episode_on_the_fake_form() -> None:
    run = await Run().go(FORM)
    assert run.status == "succeeded"
    assert run.environment.text == "Ada Lovelace – ❤ & more"
    assert await run.environment.read_file("/home/user/form.txt") == run.environment.text.encode()
    assert sum(isinstance(event, Grounded) for event in run.events) >= 5


async def test_a_box_that_is_ticked_is_left_alone() -> None:
    run = await Run().go('Check the "Agree" checkbox. Check the "Agree" checkbox. Click OK.')
    planned = [event.input for event in run.events if isinstance(event, Planned)]
    assert len(planned) == 3
    assert "already met" in next(
        event.thought
        for event in run.events
        if isinstance(event, Planned) and "OK" in event.thought
    )
