"""The fake server itself: as an object, as a process, and what it answers for ever."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from hisa.errors import UsageError
from hisa.testing.model_server import FakeServer, Fault, Line, read_script
from hisa.testing.never_ending import never_terminate
from tests.models.support import ask, client


def _post(url: str, body: object, **headers: str) -> httpx.Response:
    with httpx.Client(trust_env=False) as http:
        return http.post(f"{url}/chat/completions", json=body, headers=headers)


def _chat(url: str, system: str, user: str = "", **headers: str) -> str:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    answer = _post(url, {"model": "m", "messages": messages}, **headers).json()
    text: str = answer["choices"][0]["message"]["content"]
    return text


async def test_a_script_by_role() -> None:
    script: list[Line | str] = [
        Line("for the state", role="state"),
        "for anybody",
        Line("late", role="planner"),
    ]
    with FakeServer(script) as server:
        asked = client(server.url)
        texts = [(await asked.complete(ask())).text for _ in range(2)]
        texts.append((await asked.complete(ask(role="state"))).text)
        await asked.aclose()
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
def test_what_is_no_chat_is_refused_and_not_counted(body: object) -> None:
    with FakeServer(["one"]) as server:
        assert _post(server.url, body).status_code == 400
        assert (server.left, server.requests) == (1, [])


def test_it_lists_its_models_and_knows_no_other_address() -> None:
    with FakeServer() as server, httpx.Client(trust_env=False) as http:
        assert http.get(f"{server.url}/models").json()["object"] == "list"
        assert http.get(f"{server.url}/files").status_code == 404
        assert http.post(f"{server.url}/embeddings", json={}).status_code == 404


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


def test_an_answer_for_every_job() -> None:
    assert never_terminate("# Step abstraction", 1, "").startswith("Succeeded.")
    assert json.loads(never_terminate("# Pattern induction", 1, "")) == {"patterns": []}
    assert never_terminate("# Pattern synthesis", 1, "").startswith("- ")
    assert never_terminate("# Element locator", 1, "") == "(640,360)"
    steps = "<new_steps>\nStep 6: wait\nStep 10: gui_action | Step 99\n</new_steps>"
    refined = never_terminate("# Context refinement", 10, steps)
    assert refined.startswith("Steps 1~10: ")
    assert "Suggestion:" in refined


@contextmanager
def _process(*arguments: str) -> Iterator[str]:
    command = [sys.executable, "-m", "hisa.testing.model_server", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0


@pytest.mark.process
def test_as_a_process(tmp_path: Path) -> None:
    script, log = tmp_path / "s.jsonl", tmp_path / "log.jsonl"
    script.write_text(
        '{"fault": "status", "status": 429, "retry_after": "1", "role": "planner"}\n'
        "\n"
        '{"json": {"tool": "wait"}, "role": "planner"}\n',
        encoding="utf-8",
    )
    planner = {"X-Component": "planner", "X-Step": "4"}
    with _process("--script", str(script), "--mode", "never-terminate", "--log", str(log)) as url:
        assert url.startswith("http://127.0.0.1:")
        assert _chat(url, "# Step abstraction").startswith("Succeeded.")
        refused = _post(url, {"model": "m", "messages": []}, **planner)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert json.loads(_chat(url, "# Global planner\nmore", **planner)) == {"tool": "wait"}
        assert json.loads(_chat(url, "# Global planner", "go", **planner))["tool"] == "gui_action"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line["answer"] for line in lines] == ["text", "429", "text", "text"]
    assert lines[-1] == {
        "role": "planner",
        "step": 4,
        "job": "# Global planner",
        "model": "m",
        "images": 0,
        "text_chars": len("# Global planner\ngo"),
        "parameters": {"model": "m"},
        "response_format": None,
        "answer": "text",
    }


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "{}",
        '{"fault": "explode"}',
        '{"text": 3}',
        '{"text": "a", "fault": "hang"}',
        '{"text": "a", "colour": 1}',
        '{"fault": "status", "status": "x"}',
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"text": "fine"}\n' + line, encoding="utf-8")
    with pytest.raises(UsageError, match="line 2"):
        read_script(path)


def test_a_missing_script(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_script(tmp_path / "none.jsonl")
