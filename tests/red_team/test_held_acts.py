"""An act is held to the look that it was decided on: what came up meanwhile is not clicked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import hisa
from hisa.actions import Press
from hisa.config import Settings
from hisa.events import Abstracted, Acted
from hisa.protocols import ModelReply, ModelRequest, Task
from hisa.runs.read import Run, load_run
from hisa.testing.scripted import FunctionModel, tool_call
from tests.plugins.guard.kept_desktop import KeptDesktop

pytestmark = pytest.mark.desktop

_CHROMIUM = (
    "chromium --no-sandbox --test-type --no-first-run --disable-gpu --password-store=basic "
    "--force-renderer-accessibility --start-maximized"
)
_PAGE = """<!doctype html><title>Order</title>
<body style="margin:0;font:16px sans-serif"><h1>Order 1024</h1>
<style>button {position:absolute; width:200px; height:50px}</style>
<button style="left:100px;top:150px" onclick="document.title='continued'">Continue</button>
<button style="left:400px;top:150px" onclick="document.title='paid'" id="pay">Pay now</button>
<div id="spinner" style="position:absolute;left:700px;top:150px">|</div>
<script>
function cover() {
  const layer = document.createElement('div');
  layer.style = 'position:absolute;left:90px;top:140px;width:220px;height:70px;background:white';
  layer.innerHTML = '<button style="left:10px;top:10px">Pay $49 now</button>';
  layer.onclick = () => document.title = 'paid';
  document.body.append(layer);
}
function swap() {
  const [one, other] = document.querySelectorAll('button');
  [one.style.left, other.style.left] = [other.style.left, one.style.left];
}
function blink() {
  const button = document.querySelector('button');
  let n = 0;
  setInterval(() => button.style.borderWidth = (1 + (n++ & 1)) + 'px', 30);
}
function spin() { setInterval(() => spinner.append('|'), 200); }
document.addEventListener("keydown", %s, {once: true});
</script>"""


@pytest.fixture
async def desktop() -> AsyncIterator[KeptDesktop]:
    async with KeptDesktop() as environment:
        yield environment


async def _shown(desktop: KeptDesktop, change: str) -> tuple[int, int]:
    """Open the page; returns the middle of its first button once that is drawn."""
    await desktop.write_file("/tmp/order.html", (_PAGE % change).encode())
    opened = f"setsid -f {_CHROMIUM} file:///tmp/order.html >/dev/null 2>&1"
    await desktop.execute(opened)
    while True:
        look = await desktop.observe(elements=True, settle=0.2)
        for element in look.elements or ():
            if element.name == "Continue":
                return look.convert(element.box.centre, "image").rounded()


async def _run(desktop: KeptDesktop, folder: Path, reply: str) -> tuple[Run, str]:
    """One act decided on a look of before the change; returns its run and the page's title."""

    async def plan(request: ModelRequest) -> ModelReply:
        if "nothing was done" in request.text or "Step 1" in request.text:
            return ModelReply(tool_call("termination", "Enough."))
        await desktop.act([Press("f9")])  # the page changes
        await asyncio.sleep(1)
        return ModelReply(reply)

    tree = {
        "run": {"folder": folder},
        "patterns": {"enabled": False},
        "grounder": {"kind": "elements"},
    }
    result = await hisa.run(
        Task("order", "Go on with the order."),
        settings=Settings.model_validate(tree),
        model={"planner": FunctionModel(plan), "state": FunctionModel(lambda _: "Succeeded.")},
        environment=desktop,
    )
    look = await desktop.observe(settle=0.3)
    return load_run(result.folder), look.active.title if look.active else ""


def _reply(way: str, place: tuple[int, int]) -> str:
    if way == "described":
        source = "pyautogui.click(X_COORD, Y_COORD)"
        return tool_call("gui_action", source, 'button "Continue"')
    return tool_call("gui_action", f"pyautogui.click({place[0]}, {place[1]})")


@pytest.mark.parametrize("way", ["described", "pixels"])
async def test_what_came_up_while_the_planner_thought_is_not_clicked(
    desktop: KeptDesktop, tmp_path: Path, way: str
) -> None:
    place = await _shown(desktop, "cover")
    run, title = await _run(desktop, tmp_path, _reply(way, place))
    assert not title.startswith("paid"), "it paid"
    acted = next(event for event in run.events if isinstance(event, Acted))
    assert not acted.ok, "nothing was done, and it is said so"
    line = next(event.line for event in run.events if isinstance(event, Abstracted))
    assert "Pay $49 now" in line, "the planner is told what lies there now"


async def test_what_is_described_is_clicked_where_it_went(
    desktop: KeptDesktop, tmp_path: Path
) -> None:
    _, title = await _run(desktop, tmp_path, _reply("described", await _shown(desktop, "swap")))
    assert title.startswith("continued")


@pytest.mark.parametrize(("change", "way"), [("spin", "described"), ("blink", "pixels")])
async def test_what_changes_beside_it_or_blinks_is_clicked(
    desktop: KeptDesktop, tmp_path: Path, change: str, way: str
) -> None:
    _, title = await _run(desktop, tmp_path, _reply(way, await _shown(desktop, change)))
    assert title.startswith("continued")
