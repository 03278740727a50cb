"""Secrets typed into real applications, and no byte and no picture of the run that tells them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

import hisa
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import ModelRequest
from hisa.runs.run_reader import load_run
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation
from hisa.testing import FunctionModel, ScriptedModel, tool_call
from tests.environments.conformance import observe_until
from tests.plugins.guard.kept_desktop import PersistentDesktop
from tests.red_team.leak_search import find_leaks

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]

VALUE = "hunter2-Qz$$k0vb'x\"y"
NAME = "{{secret:mail}}"
PAGE = """<!doctype html><title>Log in</title><body style="font: 16px sans-serif">
<p><label>Password <input id=password type=password size=40></label>
<p><label>Shown <input id=shown size=40></label>
<p id=echo style="margin-top: 60px"></p><p id=turned></p>
<script>
const codes = (id) => [...document.getElementById(id).value].map((c) => c.charCodeAt(0)).join("-");
document.oninput = () => {
  document.title = "Codes " + codes("password") + " and " + codes("shown") + " end";
  document.getElementById("echo").textContent = "You said " + shown.value + ", is that so?";
};
</script>"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop() -> AsyncIterator[DesktopEnvironment]:
    async with PersistentDesktop() as environment:
        yield environment


class _Models:
    """A planner that follows a script, and a state model; what they were asked is kept."""

    def __init__(self, replies: Sequence[str]) -> None:
        self.planner = ScriptedModel([*replies, tool_call("termination", "It is done.")])
        self.state = FunctionModel(lambda _: "Succeeded. It did.")

    @property
    def requests(self) -> list[ModelRequest]:
        return [*self.planner.requests, *self.state.requests]


async def _run(
    desktop: DesktopEnvironment, folder: Path, *replies: str, **secret: object
) -> tuple[hisa.RunResult, _Models]:
    models = _Models(replies)
    chosen = hisa.Settings.model_validate(
        {
            "patterns": {"enabled": False},
            "run": {"folder": folder},
            "secrets": {"mail": {"env": "HISA_TEST_MAIL", **secret}},
        }
    )
    result = await hisa.run(
        f"Use the password {NAME}.",
        settings=chosen,
        model={"planner": models.planner, "state": models.state},
        environment=desktop,
    )
    return result, models


@pytest.fixture(autouse=True)
def _value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HISA_TEST_MAIL", VALUE)


def _write(at: Point, text: str = NAME) -> str:
    x, y = at.to_pixels()
    return tool_call("gui_action", f"pyautogui.click({x}, {y}); pyautogui.write({text!r})")


async def _nobody_knows(result: hisa.RunResult, models: _Models) -> list[str]:
    """Texts of a run's events; no file of the run and no request of a model told the value."""
    assert await asyncio.to_thread(find_leaks, VALUE, result.folder, *models.requests) == []
    return [event.model_dump_json() for event in load_run(result.folder).events]


@pytest.mark.skipif(not shutil.which("mousepad"), reason="needs mousepad")
async def test_editor_gets_the_value_and_its_pictures_are_filled(
    desktop: DesktopEnvironment, tmp_path: Path
) -> None:
    await desktop.write_file("/home/user/note.txt", b"")
    await desktop.execute("mousepad ~/note.txt >/dev/null 2>&1 &")
    look = await observe_until(
        desktop, lambda look: look.active is not None and bool(look.elements)
    )
    field = next(e for e in look.elements or () if e.role == "text" and "editable" in e.states)
    result, models = await _run(
        desktop,
        tmp_path,
        _write(field.box.centre, f"my password: {NAME}, and more\nnext line"),
        tool_call("gui_action", "pyautogui.hotkey('ctrl', 's')"),
        tool_call("bash_execution", "cat ~/note.txt; base64 ~/note.txt; ps aux | grep -c hunter"),
        tool_call("bash_execution", f"echo {NAME}"),
        apps=("mousepad",),
    )
    assert result.status == "succeeded"
    texts = await _nobody_knows(result, models)
    saved = (await desktop.read_file("/home/user/note.txt")).decode()
    assert saved.rstrip("\n") == f"my password: {VALUE}, and more\nnext line"
    assert any("my password: {{secret:mail}}, and more" in text for text in texts)
    assert any("{{secret:mail}} was typed into Mousepad" in text for text in texts)
    assert any("may not go to 'echo {{secret:mail}}'" in text for text in texts)
    await desktop.execute("pkill -KILL -x mousepad")


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
async def test_page_gets_the_value_in_both_kinds_of_fields(
    desktop: DesktopEnvironment, tmp_path: Path
) -> None:
    await desktop.write_file("/home/user/page.html", PAGE.encode())
    await desktop.execute(
        "cd ~ && (python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 &);"
        " chromium http://127.0.0.1:8765/page.html >/dev/null 2>&1 &"
    )
    look = await observe_until(desktop, lambda look: len(_fields(look)) == 2)
    password, shown = _fields(look)
    result, models = await _run(
        desktop,
        tmp_path,
        _write(password),
        _write(shown),
        tool_call("gui_action", "pyautogui.press('home'); pyautogui.write('x')"),
        tool_call("gui_action", "pyautogui.hotkey('ctrl', 'l')"),
        tool_call("gui_action", f"pyautogui.write({NAME!r})"),
        tool_call("gui_action", "pyautogui.press('esc')"),
        sites=("127.0.0.1",),
        apps=("chrom*",),
    )
    texts = await _nobody_knows(result, models)
    title = (await desktop.observe(settle=3.0)).windows[-1].title
    codes = "-".join(str(ord(letter)) for letter in VALUE)
    assert f"Codes {codes} and 120-{codes} end" in title
    assert any("not typed into an address bar" in text for text in texts)
    await desktop.execute("pkill -KILL -x chromium; pkill -f http.server")


def _fields(look: Observation) -> list[Point]:
    """The fields of the page, from top to bottom."""
    fields = [
        element
        for element in look.elements or ()
        if element.name in ("Password", "Shown") and "editable" in element.states
    ]
    return [element.box.centre for element in sorted(fields, key=lambda field: field.box.top)]


@pytest.mark.skipif(not shutil.which("xterm"), reason="needs xterm")
async def test_terminal_that_echoes_and_a_title_bar_are_filled(
    desktop: DesktopEnvironment, tmp_path: Path
) -> None:
    await desktop.execute("xterm -fa Monospace -fs 11 -geometry 60x12+60+80 -e 'cat | tee ~/got' &")
    await observe_until(desktop, lambda look: bool(look.windows))
    result, models = await _run(
        desktop,
        tmp_path,
        tool_call("gui_action", f"pyautogui.write('a {NAME} b'); pyautogui.press('enter')"),
        tool_call("gui_action", f"pyautogui.write('{'-' * 48}{NAME}'); pyautogui.press('enter')"),
        tool_call("bash_execution", f"xterm -geometry 50x5+60+420 -T {NAME} -e 'sleep 60' &"),
        tool_call("wait", 1),
        tool_call("bash_execution", f"printf '%s' '{NAME}' | base64 > ~/held; cat ~/held"),
        apps=("xterm",),
        commands=("xterm *", "printf *"),
    )
    texts = await _nobody_knows(result, models)
    got = (await desktop.read_file("/home/user/got")).decode()
    assert got == f"a {VALUE} b\n{'-' * 48}{VALUE}\n"
    assert any('"type":"observed"' in text and '"{{secret:mail}}"' in text for text in texts)
    await desktop.execute("pkill -KILL -x xterm")
