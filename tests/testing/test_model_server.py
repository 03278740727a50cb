"""The fake server itself: as an object, as a process, and what it answers for ever."""

from __future__ import annotations

import json

import httpx
import pytest

from hisa.testing.model_server import FakeServer, Fault, Line
from tests.models.support import ask, client
from tests.never_ending import never_terminate


def _post(url: str, body: object, **headers: str) -> httpx.Response:
    with httpx.Client(trust_env=False) as http:
        return http.post(f"{url}/chat/completions", json=body, headers=headers)


async def test_a_script_by_role() -> None:
    script: list[Line | str] = [
        Line("for the state", role="state"),
        "for anybody",
        Line("late", role="planner"),
    ]
    with FakeServer(script) as server:
        model = client(server.url)
        texts = [(await model.complete(ask())).text for _ in range(2)]
        texts.append((await model.complete(ask(role="state"))).text)
        await model.aclose()
        assert server.left == 0
    assert texts == ["for anybody", "late", "for the state"]
    assert [request.role for request in server.requests] == ["planner", "planner", "state"]


def test_running_out_is_a_refusal() -> None:
    with FakeServer(["one"]) as server:
        good = {"model": "m", "messages": []}
        assert _post(server.url, good).status_code == 200
        answer = _post(server.url, good)
    assert answer.status_code == 400
    assert "no more answers" in answer.json()["error"]["message"]


@pytest.mark.parametrize("body", [[], {}, {"messages": "hi"}, "x"])
def test_request_without_messages_is_refused_and_not_counted(body: object) -> None:
    with FakeServer(["one"]) as server:
        assert _post(server.url, body).status_code == 400
        assert (server.left, server.requests) == (1, [])


def test_closing_lets_hanging_answers_go() -> None:
    with FakeServer([Fault("hang")]) as server, httpx.Client(trust_env=False) as http:
        with pytest.raises(httpx.ReadTimeout):
            http.post(f"{server.url}/chat/completions", json={"messages": []}, timeout=0.1)
        server.close()
        with pytest.raises(httpx.ConnectError):
            http.get(f"{server.url}/models")


@pytest.mark.parametrize("step", range(1, 51))
def test_the_plan_never_ends_and_never_repeats(step: int) -> None:
    plan = json.loads(never_terminate("# Global planner", step, ""))
    assert plan.keys() == {"thought", "tool", "input"}
    assert plan["tool"] == "gui_action"
    assert plan["input"] != json.loads(never_terminate("# Global planner", step + 1, ""))["input"]
    assert never_terminate("# Format correction", step, "") == json.dumps(plan)
