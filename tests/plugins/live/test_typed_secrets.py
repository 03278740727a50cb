"""A password that a person types while the agent is parked: nobody reads it, in any byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.live.watched.typed_secrets import kind_of_focus
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.screen.ocr import available, read_text
from hisa.testing import FakeEnvironment, ReceivedRequest, tool_call
from hisa.text.redact.named_secrets import forms
from tests.plugins.live.watching import DONE, WatchedRun, watch_run

PASSWORD = "Zebra-Quilt-77"
FIELD, OK = {"x": 300, "y": 136}, {"x": 260, "y": 236}
LOOK = tool_call("gui_action", "pyautogui.moveTo(5, 5)")
OCR = pytest.mark.skipif(not available(), reason="nothing here reads pictures")


class Login(FakeEnvironment):
    """The form with another role for its field, whose status line tells what was typed."""

    def __init__(self, role: str = "password text", label: str = "Name:", **more: Any) -> None:
        super().__init__(**more)
        self.role, self.label = role, label

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        observation = await super().observe(elements=elements, settle=settle)
        shown_elements = observation.elements and tuple(
            replace(e, role=self.role, label=self.label, text="•" * len(e.text))
            if e.role == "text"
            else e
            for e in observation.elements
        )
        return replace(observation, elements=shown_elements)


def leaks(run: WatchedRun, folder: Path, value: str) -> list[str]:
    """Where any form of a value stands: in files, in requests, in answers of the socket."""
    places = [str(path) for path in folder.rglob("*") if path.is_file() and holds(path, value)]
    places += ["request" for r in run.server.requests if in_bytes(str(r.body).encode(), value)]
    return places + ["answer" for client in run.clients if in_bytes(client.received, value)]


def holds(path: Path, value: str) -> bool:
    return in_bytes(path.read_bytes(), value)


def in_bytes(data: bytes, value: str) -> bool:
    return any(form.encode() in data for form in forms(value))


def read_words(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.png"):
        for line in read_text(Screenshot.from_png(path.read_bytes()), least=0.0):
            yield line.text


@OCR
@pytest.mark.parametrize(
    ("role", "label", "shown"),
    [
        ("password text", "Name:", "pyautogui.write('{{secret:typed_1}}')"),
        ("text", "Your passphrase", "pyautogui.write('{{secret:typed_1}}')"),
        ("terminal", "", "typed 14 characters"),
    ],
)
async def test_typed_password_is_not_recorded(
    role: str, label: str, shown: str, tmp_path: Path
) -> None:
    def plan(request: ReceivedRequest, count: int) -> str:
        after_take_over = request.text.partition("a person had")[2]
        return DONE if after_take_over and "Step 3" in request.text else LOOK

    form = Login(role, label)
    async with watch_run(tmp_path, plan, form=form) as run:
        client = await run.client()
        await client.step(1)
        lease = (await client.ask("take", viewer="Ruth"))["lease"]

        async def do(*acts: dict[str, Any]) -> None:
            assert (await client.ask("input", lease=lease, acts=acts)) == {"ok": True}

        await do({"kind": "click", **FIELD}, {"kind": "type", "text": PASSWORD[:5]})
        await client.ask("frame")
        keys = [{"kind": "press", "keys": [letter]} for letter in PASSWORD[5:] + "x"]
        await do(*keys, {"kind": "press", "keys": ["backspace"]})
        await do({"kind": "click", **OK})
        await client.ask("frame")
        give_reply = await client.ask("give", lease=lease)
        assert (await run.result()).status == "succeeded"
    folder = next((tmp_path / "runs").iterdir())
    assert form.text == PASSWORD
    assert leaks(run, folder, PASSWORD) == []
    texts = [e.text for e in run.events if e.type == "person_acted" and e.did == "acted"]
    assert texts == ["pyautogui.click(300, 136)", shown, "pyautogui.click(260, 236)"]
    assert "{{secret:typed_1}}" in give_reply["line"]  # what the status line tells
    assert "{{secret:typed_1}}" in run.prompts()[-1]
    assert not any(PASSWORD[:9] in words for words in read_words(folder))


@OCR
async def test_a_typed_password_is_typed_by_nobody_again(tmp_path: Path) -> None:
    again = tool_call(
        "gui_action", "pyautogui.click(300, 136); pyautogui.write('{{secret:typed_1}}')"
    )

    def plan(request: ReceivedRequest, count: int) -> str:
        after_take_over = request.text.partition("a person had")[2]
        return LOOK if not after_take_over else DONE if "no such secret" in request.text else again

    form = Login()
    async with watch_run(tmp_path, plan, form=form) as run:
        client = await run.client()
        lease = (await client.ask("take", viewer="Ruth"))["lease"]
        acts = [{"kind": "click", **FIELD}, {"kind": "type", "text": PASSWORD}]
        await client.ask("input", lease=lease, acts=acts)
        await client.ask("give", lease=lease)
        assert (await run.result()).status == "succeeded"
    assert form.text == PASSWORD


async def test_a_named_secret_is_put_in_next_to_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not available():
        pytest.skip("nothing here reads pictures")
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    settings = {"secrets": {"mail": {"env": "MAIL_PASSWORD"}}}
    form = FakeEnvironment()
    async with watch_run(
        tmp_path, lambda request, count: LOOK, form=form, settings=settings
    ) as run:
        client = await run.client()
        lease = (await client.ask("take", viewer="Ruth"))["lease"]
        acts = [{"kind": "click", **FIELD}, {"kind": "type", "text": "{{secret:mail}}"}]
        assert await client.ask("input", lease=lease, acts=acts) == {"ok": True}
        await client.ask("give", lease=lease)
        await client.ask("stop")
        await run.result()
    assert form.text == PASSWORD
    assert leaks(run, next((tmp_path / "runs").iterdir()), PASSWORD) == []


@pytest.mark.parametrize(
    ("role", "name", "kind"),
    [
        ("password text", "", "password"),
        ("entry", "Card security code", "password"),
        ("text", "Search", "plain"),
        ("terminal", "", "unknown"),
        ("push button", "OK", "unknown"),
    ],
)
def test_focused_control_decides_the_secrecy_of_typed_text(role: str, name: str, kind: str) -> None:
    box = BoundingBox(0, 0, 10, 10, "screen")
    element = Element(role, name, box, states=frozenset({"focused"}))
    picture = Screenshot.from_rgb(Size(1, 1), bytes(3))
    observation = Observation(picture, Size(1, 1), elements=(element,))
    assert kind_of_focus(observation) == kind
    assert kind_of_focus(replace(observation, elements=None)) == "unknown"
    assert kind_of_focus(replace(observation, complete=False)) == (
        "unknown" if kind == "plain" else kind
    )


class Shell(Login):
    """A terminal that shows what is typed."""

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        observation = await super().observe(elements=elements, settle=settle)
        shown_elements = observation.elements and tuple(
            replace(e, text=self.text) if e.role == self.role else e for e in observation.elements
        )
        return replace(observation, elements=shown_elements)


async def test_text_shown_by_a_terminal_is_recorded(tmp_path: Path) -> None:
    form = Shell("terminal")
    async with watch_run(tmp_path, lambda request, count: LOOK, form=form) as run:
        client = await run.client()
        lease = (await client.ask("take", viewer="Ruth"))["lease"]
        await client.ask("input", lease=lease, acts=[{"kind": "click", **FIELD}])
        for letter in "make":
            await client.ask("input", lease=lease, acts=[{"kind": "press", "keys": [letter]}])
        await client.ask("give", lease=lease)
        await client.ask("stop")
        await run.result()
    texts = [e.text for e in run.events if e.type == "person_acted" and e.did == "acted"]
    assert texts == ["pyautogui.click(300, 136)", "pyautogui.write('make')"]


class Sealed(Login):
    """A login whose methods cannot be replaced, so that nothing can be put around it later."""

    def __setattr__(self, name: str, value: object) -> None:
        if callable(value) or name.startswith("_hisa"):
            raise AttributeError(name)
        super().__setattr__(name, value)


async def test_password_that_cannot_be_hidden_is_not_typed(tmp_path: Path) -> None:
    form = Sealed()
    async with watch_run(tmp_path, lambda request, count: LOOK, form=form) as run:
        client = await run.client()
        lease = (await client.ask("take", viewer="Ruth"))["lease"]
        acts = [{"kind": "click", **FIELD}, {"kind": "type", "text": PASSWORD}]
        answer = await client.ask("input", lease=lease, acts=acts)
        await client.ask("stop")
        await run.result()
    assert "could not be hidden" in answer["error"]
    assert form.text == ""
    assert leaks(run, next((tmp_path / "runs").iterdir()), PASSWORD) == []


@OCR
async def test_a_password_is_hidden_though_its_typist_is_gone(tmp_path: Path) -> None:
    class Breaking(Login):
        broken = False

        async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
            if self.text and not self.broken:
                self.broken = True
                raise EnvironmentFailed("the look after what was typed")
            return await super().observe(elements=elements, settle=settle)

    form = Breaking("terminal")
    async with watch_run(tmp_path, lambda request, count: LOOK, form=form) as run:
        client, other = await run.client(), await run.client()
        lease = (await client.ask("take", viewer="Ruth"))["lease"]
        acts = [{"kind": "click", **FIELD}, {"kind": "type", "text": PASSWORD}]
        assert (await client.ask("input", lease=lease, acts=acts))["ok"] is False
        await client.ask("input", lease=lease, acts=[{"kind": "click", **OK}])
        await client.close()
        step = (await other.state("running"))["step"]
        await other.step(step + 2)
        await other.ask("stop")
        await run.result()
    assert form.text == PASSWORD
    assert leaks(run, next((tmp_path / "runs").iterdir()), PASSWORD) == []
