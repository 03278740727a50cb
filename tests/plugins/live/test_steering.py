"""A run that a person steers by its socket: paused, taken over, stopped, and left alone again."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from PIL import Image

import hisa
from hisa.actions import points
from hisa.environments.confirmation import Answer, Question
from hisa.plugins.live.watched.run_socket import socket_path
from hisa.protocols import ModelRequest
from hisa.runs.run_reader import load_run
from hisa.runs.wording import by_person
from hisa.testing import FakeEnvironment, FunctionModel, ReceivedRequest, tool_call
from tests.plugins.live.watching import DONE, TYPE_ADA, WAIT, watch_run

FIELD, AGREE = {"x": 300, "y": 136}, {"x": 230, "y": 180}


async def test_a_run_is_paused_and_goes_on(tmp_path: Path) -> None:
    steps: list[int] = []

    def plan(request: ReceivedRequest, count: int) -> str:
        steps.append(count)
        return DONE if (tmp_path / "enough").exists() else WAIT

    async with watch_run(tmp_path, plan) as run:
        client = await run.client()
        await client.step(2)
        assert (await client.ask("pause"))["ok"]
        status = await client.state("paused")
        assert (status["max_steps"], status["holder"], status["question"]) == (400, "", None)
        planned = len(steps)
        await asyncio.sleep(0.3)
        assert len(steps) == planned
        assert (await client.ask("resume"))["state"] == "running"
        await client.step(status["step"] + 2)
        (tmp_path / "enough").touch()
        assert (await run.result()).status == "succeeded"
    assert run.did() == ["paused", "resumed"]


async def test_next_prompt_reports_acts_of_the_person(tmp_path: Path) -> None:
    def plan(request: ReceivedRequest, count: int) -> str:
        return DONE if "Grace" in request.text.partition("a person had")[2] else WAIT

    async with watch_run(tmp_path, plan) as run:
        client, other = await run.client(), await run.client()
        await client.step(2)
        taken = await client.ask("take", viewer="Ruth")
        assert (taken["width"], taken["height"]) == (1280, 720)
        assert (await client.ask("status"))["state"] == "held"
        refused = await other.ask("take", viewer="Eve")
        assert refused == {"ok": False, "error": "Ruth holds the machine"}
        click = {"kind": "click", **FIELD}
        acts = [click, *({"kind": "press", "keys": [letter]} for letter in "Grac")]
        wrong = await other.ask("input", lease="x", acts=acts)
        assert (wrong["ok"], run.form.text) == (False, "")
        assert await client.ask("input", lease=taken["lease"], acts=acts) == {"ok": True}
        acts = [{"kind": "type", "text": "e"}]
        assert await client.ask("input", lease=taken["lease"], acts=acts) == {"ok": True}
        assert run.form.text == "Grace"
        give_reply = await client.ask("give", lease=taken["lease"])
        assert "Grace" in give_reply["line"]
        assert (await run.result()).status == "succeeded"
    assert run.did() == ["took_over", "acted", "acted", "gave_back"]
    texts = [e.text for e in run.events if e.type == "person_acted"]
    assert texts[1:3] == ["pyautogui.click(300, 136)", "pyautogui.write('Grace')"]
    assert give_reply["line"] in run.prompts()[-1]


async def test_a_plan_is_ended_by_a_take_over_and_no_act_follows_an_old_screen(
    tmp_path: Path,
) -> None:
    plan_started, go = threading.Event(), threading.Event()

    def plan(request: ReceivedRequest, count: int) -> str:
        if count > 1:
            return DONE
        plan_started.set()
        go.wait(60)
        return TYPE_ADA

    async with watch_run(tmp_path, plan) as run:
        run.go = go
        client = await run.client()
        await asyncio.to_thread(plan_started.wait, 60)
        taken = await client.ask("take", viewer="Ruth")
        assert taken["ok"]
        assert not go.is_set()
        acts = [{"kind": "click", **AGREE}]
        assert (await client.ask("input", lease=taken["lease"], acts=acts))["ok"]
        line = (await client.ask("give", lease=taken["lease"]))["line"]
        go.set()
        assert (await run.result()).status == "succeeded"
    assert (run.form.text, run.form.agreed) == ("", True)
    failed = [event for event in run.events if event.type == "acted" and not event.ok]
    assert ["nothing was done" in event.error for event in failed] == [True]
    assert line in run.prompts()[-1]
    abstracted = [event for event in run.events if event.type == "abstracted"]
    assert (abstracted[0].verdict, abstracted[0].roi) == ("failed", None)  # it is not its doing
    assert not abstracted[0].asked_model, "the person waits for it"
    assert "checked" in line


async def test_a_run_that_was_paused_acts_only_where_the_screen_is_as_decided(
    tmp_path: Path,
) -> None:
    plan_started, go = threading.Event(), threading.Event()

    def plan(request: ReceivedRequest, count: int) -> str:
        if count > 1:
            return DONE
        plan_started.set()
        go.wait(60)
        return tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "Agree")

    async with watch_run(tmp_path, plan) as run:
        run.go = go
        client = await run.client()
        await asyncio.to_thread(plan_started.wait, 60)
        assert (await client.ask("pause"))["ok"]
        go.set()
        await client.state("paused")
        run.form.move(["agree"], 60)
        run.form.move(["ok"], -50)  # where it was
        await client.ask("resume")
        assert (await run.result()).status == "succeeded"
    places = [point.y for point in points(run.form.acted)]
    assert all(place > AGREE["y"] + 30 for place in places), "never where it was decided"
    assert run.form.agreed == bool(places)


async def test_the_agent_is_credited_with_nothing_that_a_person_did_between_steps(
    tmp_path: Path,
) -> None:
    def plan(request: ReceivedRequest, count: int) -> str:
        return DONE if "a person had" in request.text else WAIT

    async with watch_run(tmp_path, plan) as run:
        client = await run.client()
        await client.step(2)
        await client.ask("pause")
        await client.state("paused")  # between two steps, or before a call that waits
        taken = await client.ask("take", viewer="Ruth")
        acts = [{"kind": "click", **AGREE}]
        assert (await client.ask("input", lease=taken["lease"], acts=acts))["ok"]
        await client.ask("give", lease=taken["lease"])
        await client.ask("resume")
        result = await run.result()
    assert run.form.agreed
    assert [event.roi for event in run.events if event.type == "abstracted" and event.roi] == []
    for step in load_run(result.folder).steps:
        if any(act.did == "acted" for act in step.person):
            assert all(line.startswith("between steps") for line in by_person(step))
        elif step.before and step.after:
            assert step.before.image == step.after.image, "no other step has what the person did"


async def test_a_run_goes_on_when_the_connection_of_its_holder_dies(tmp_path: Path) -> None:
    def plan(request: ReceivedRequest, count: int) -> str:
        return DONE if "a person had" in request.text else WAIT

    async with watch_run(tmp_path, plan) as run:
        client, other = await run.client(), await run.client()
        await client.step(2)
        await client.ask("pause")
        assert (await client.ask("take", viewer="Ruth"))["ok"]
        await client.close()
        assert (await run.result()).status == "succeeded"
        assert not (await other.reader.read())  # whoever listens is let go
    assert run.did() == ["paused", "took_over", "gave_back", "resumed"]


async def test_a_run_that_is_parked_is_stopped_at_once(tmp_path: Path) -> None:
    async with watch_run(tmp_path, lambda request, count: WAIT) as run:
        client = await run.client()
        await client.step(1)
        await client.ask("pause")
        await client.state("paused")
        assert (await client.ask("stop"))["ok"]
        result = await run.result()
    assert (result.status, result.score_state) == ("stopped", "unscored")
    assert run.did() == ["paused", "stopped"]
    path = socket_path(result.run_id)
    assert not path.exists()
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_the_policy_forbids_a_person_too_but_asks_nobody(tmp_path: Path) -> None:
    rules = [{"effect": "delete", "then": "ask"}, {"app": "fake", "command": "x", "then": "ask"}]
    rules += [{"path": "/etc/*", "then": "deny", "why": "It is the machine's own."}]

    async def ask(question: Question) -> Answer:
        raise AssertionError(f"nobody is asked: {question}")

    settings = {"policy": {"rules": rules, "unknown": "ask"}}
    async with watch_run(tmp_path, lambda request, count: WAIT, settings=settings) as run:
        client = await run.client()
        taken = await client.ask("take", viewer="Ruth")
        lease = taken["lease"]
        acts: list[dict[str, Any]] = [{"kind": "click", **FIELD}]
        assert (await client.ask("input", lease=lease, acts=acts))["ok"]
        acts = [{"kind": "type", "text": "/etc/passwd"}]
        refused = await client.ask("input", lease=lease, acts=acts)
        assert "rule 3: deny" in refused["error"]
        assert "It is the machine's own." in refused["error"]
        assert run.form.text == ""
        for piece in ("/et", "c/pas"):  # letter by letter it is the same
            refused = await client.ask("input", lease=lease, acts=[{"kind": "type", "text": piece}])
        assert "rule 3: deny" in refused["error"]
        await client.ask("stop")
        await run.result()
    errors = [e.error for e in run.events if e.type == "person_acted" and e.error]
    assert len(errors) == 2
    assert run.form.text == "/et"


async def test_questions_are_answered_at_the_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HISA_LIVE_ASK", "1")
    question = {"question": "Which?", "choices": ["March", "April"]}

    def plan(request: ReceivedRequest, count: int) -> str:
        calls = {
            1: tool_call("person_ask", question),
            2: tool_call("person_hand_over", {"what": "A code."}),
        }
        return calls.get(count, TYPE_ADA if count == 3 else DONE)

    settings = {"run": {"confirm": "always"}}
    async with watch_run(tmp_path, plan, settings=settings) as run:
        client, other = await run.client(), await run.client()
        pending = await client.question("question")
        assert (pending["kind"], pending["choices"]) == ("question", ["March", "April"])
        wrong = await client.ask("answer", question=pending["id"], text="May")
        assert wrong["error"] == "the answers to choose from are: March, April"
        assert (await other.ask("answer", question=pending["id"], text="April"))["ok"]
        assert not (await client.ask("answer", question=pending["id"], text="March"))["ok"]
        await client.question("hand_over")
        taken = await client.ask("take", viewer="Ruth")
        await client.ask("give", lease=taken["lease"])  # which answers it
        pending = await client.question("acts")
        assert pending["deadline"] is None
        assert not (await client.ask("answer", question=pending["id"], text="yes"))["ok"]
        answer = {"question": pending["id"], "kind": "refuse", "text": "not this"}
        assert (await client.ask("answer", **answer))["ok"]
        assert (await run.result()).status == "succeeded"
    answers = [(e.kind, e.answer, e.by) for e in run.events if e.type == "person_asked"]
    assert answers == [("question", "April", "person"), ("hand_over", "", "person")]
    confirmed = [(e.answer, e.word) for e in run.events if e.type == "confirmed"]
    assert confirmed == [("refuse", "not this")]


async def test_hostile_requests_end_nothing(tmp_path: Path) -> None:
    async with watch_run(tmp_path, lambda request, count: WAIT) as run:
        client = await run.client()
        taken = await client.ask("take", viewer="Ruth")
        lease = taken["lease"]
        far, odd = {"kind": "click", "x": 1e9, "y": 1}, {"kind": "click", "x": 1, "y": 1, "z": 1}
        lines = [
            b"",
            b"junk",
            b"\xff\xfe",
            b"[]",
            b'{"do": "status", "more": 1}',
            b'{"do": "status", "do": "", "do": 1}',
            b'{"do": "fly"}',
            b"[" * 60_000,
            b'{"do": "input", "acts": ' + b"[" * 50_000,
            b'{"do": NaN}',
            json.dumps({"do": "input", "lease": lease, "acts": [far]}).encode(),
            *(
                json.dumps({"do": "input", "lease": lease, "acts": [act]}).encode()
                for act in (odd, {"kind": "type"}, {"kind": "move", "x": 1}, {"kind": "press"})
            ),
            json.dumps({"do": "take", "viewer": "x" * 100}).encode(),
        ]
        for line in lines:
            answer = await client.send(line)
            assert answer["ok"] is False, line[:80]
        long = await run.client()
        long.writer.write(b"x" * 70_000)
        assert json.loads(await long.reader.readline())["ok"] is False
        assert not (await long.reader.read())  # and it is hung up
        assert (await client.ask("give", lease=lease))["ok"]
        await client.ask("stop")
        assert (await run.result()).status == "stopped"
    assert run.form.acted == []


async def test_a_run_without_a_socket_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/dev/null")
    async with watch_run(tmp_path, lambda request, count: DONE) as run:
        assert (await run.result()).status == "succeeded"
    notes = [event.text for event in run.events if event.type == "noted"]
    assert any("this run has no live page" in text for text in notes)


async def test_frames_are_the_runs_own_looks_and_fresh_ones_while_it_is_held(
    tmp_path: Path,
) -> None:
    async with watch_run(tmp_path, lambda request, count: WAIT) as run:
        client = await run.client()
        await client.step(2)
        await client.ask("pause")
        await client.state("paused")
        looks = len(run.form.looked)
        frame = await client.ask("frame")
        assert Image.open(io.BytesIO(frame["data"])).size == (1280, 720)
        assert await client.ask("frame", since=frame["hash"]) == {"ok": True, "same": True}
        assert len(run.form.looked) == looks
        taken = await client.ask("take", viewer="Ruth")
        await client.ask("input", lease=taken["lease"], acts=[{"kind": "click", **AGREE}])
        await asyncio.sleep(0.25)
        assert not (await client.ask("frame", since=frame["hash"]))["same"]
        await client.ask("stop")
        await run.result()


def test_no_class_of_the_page_runs_in_a_step_that_nobody_watches(tmp_path: Path) -> None:
    folder = str(Path(hisa.__file__).parent / "plugins/live")
    passed: list[str] = []
    planned = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and planned and code.co_filename.startswith(folder):
            passed.append(code.co_qualname)

    def plan(request: ModelRequest) -> str:
        nonlocal planned
        planned += 1
        if planned < 3:
            return tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "Agree")
        sys.setprofile(None)
        return DONE

    tree = {"patterns": {"enabled": False}, "run": {"folder": tmp_path}}
    models = {"planner": FunctionModel(plan), "state": FunctionModel(lambda _: "Succeeded. It is.")}
    sys.setprofile(profile)
    try:
        result = hisa.run_sync(
            "Agree.",
            settings=hisa.Settings.model_validate(tree),
            environment=FakeEnvironment(),
            model=models,
        )
    finally:
        sys.setprofile(None)
    assert (result.status, result.steps) == ("succeeded", 3)
    assert passed == []
