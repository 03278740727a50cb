"""A run that a person steers by its socket: paused, taken over, stopped, and left alone again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hisa.testing import Received
from tests.plugins.live.watching import DONE, WAIT, watched

FIELD = {"x": 300, "y": 136}


async def test_a_run_is_paused_and_goes_on(tmp_path: Path) -> None:
    steps: list[int] = []

    def plan(request: Received, count: int) -> str:
        steps.append(count)
        return DONE if (tmp_path / "enough").exists() else WAIT

    async with watched(tmp_path, plan) as run:
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


async def test_what_a_person_did_stands_in_the_next_prompt(tmp_path: Path) -> None:
    def plan(request: Received, count: int) -> str:
        return DONE if "Grace" in request.text.partition("a person had")[2] else WAIT

    async with watched(tmp_path, plan) as run:
        client, other = await run.client(), await run.client()
        await client.step(2)
        taken = await client.ask("take", viewer="Ruth")
        assert (taken["width"], taken["height"]) == (1280, 720)
        assert (await client.ask("status"))["state"] == "held"
        refused = await other.ask("take", viewer="Eve")
        assert refused == {"ok": False, "error": "Ruth holds it"}
        click = {"kind": "click", **FIELD}
        acts = [click, *({"kind": "press", "keys": [letter]} for letter in "Grac")]
        wrong = await other.ask("input", lease="x", acts=acts)
        assert not wrong["ok"] and run.form.text == ""
        assert await client.ask("input", lease=taken["lease"], acts=acts) == {"ok": True}
        acts = [{"kind": "type", "text": "e"}]
        assert await client.ask("input", lease=taken["lease"], acts=acts) == {"ok": True}
        assert run.form.text == "Grace"
        given = await client.ask("give", lease=taken["lease"])
        assert "Grace" in given["line"]
        assert (await run.result()).status == "succeeded"
    assert run.did() == ["took_over", "acted", "acted", "gave_back"]
    texts = [e.text for e in run.events if e.type == "person_acted"]
    assert texts[1:3] == ["pyautogui.click(300, 136)", "pyautogui.write('Grace')"]
    assert given["line"] in run.prompts()[-1]
