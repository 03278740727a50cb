"""Every press of a call is held at its own moment: what an earlier one opened is not pressed."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

import hisa
from hisa.config import Settings
from hisa.events import Abstracted
from hisa.machine.patience import Deadline
from hisa.protocols import Task
from hisa.runs.run_reader import load_run
from hisa.screen.observation import Observation
from hisa.testing.scripted import FunctionModel, ScriptedModel, tool_call
from tests.plugins.guard.kept_desktop import PersistentDesktop

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium"),
]

_CHROMIUM = "chromium --no-sandbox --test-type --start-maximized"
_PAGE = """<!doctype html><meta charset=utf-8><title>%(case)s ready</title>
<body style="margin:0;font:16px sans-serif"><h1>Order 1024</h1>
<style>button {width:200px; height:50px} button:hover {background:#8cf}
button, label, input[type=text], ul, div {position:absolute; margin:0}</style>
<label style="left:100px;top:120px"><input type=checkbox id=agree> I agree</label>
<input type=text id=coupon aria-label=Coupon style="left:100px;top:160px;width:200px">
<button style="left:100px;top:230px" id=go onclick="said('continued')">Continue</button>
<script>
const get = id => document.getElementById(id)
function said(word) { if (!document.title.includes('paid')) document.title = '%(case)s ' + word }
function cover(top) {
  const layer = document.createElement('div');
  layer.style = 'left:90px;top:' + top + 'px;width:240px;height:75px;background:white';
  layer.innerHTML = '<button style="left:10px;top:10px">Pay $49 now</button>';
  layer.onmousedown = () => said('paid');
  document.body.append(layer);
}
function suggest() {
  const list = document.createElement('ul');
  list.style = 'left:100px;top:190px;width:240px;background:white;padding:0';
  list.innerHTML = ['Saver','Save 10 and pay', 'Save 20 and pay', 'Save 30 and pay'].map(
    text => '<li style="height:32px">' + text + '</li>').join('');
  list.onmousedown = () => said('paid');
  document.body.append(list);
}
const cases = {
  cover: () => get('agree').onchange = () => cover(220),
  suggestions: () => get('coupon').oninput = () => { if (!document.querySelector('ul')) suggest() },
  card: () => get('go').onmouseenter = () => cover(220),
  label: () => get('agree').onchange = () => {
    get('go').textContent = 'Pay $49 now'; get('go').onclick = () => said('paid') },
  dialog: () => get('coupon').oninput = () => {
    const dialog = document.createElement('dialog');
    dialog.innerHTML = '<button onclick="said(\\'paid\\')" style="position:static">Pay</button>';
    document.body.append(dialog); dialog.showModal() },
  plain: () => {},
};
cases['%(case)s']();
</script>"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop() -> AsyncIterator[PersistentDesktop]:
    async with PersistentDesktop() as environment:
        yield environment


def _title(observation: Observation) -> str:
    return observation.active.title if observation.active else ""


async def _places(desktop: PersistentDesktop, case: str, *names: str) -> list[tuple[int, int]]:
    """Open the page; returns the middles of things of it once they are drawn."""
    await desktop.write_file(f"/tmp/{case}.html", (_PAGE % {"case": case}).encode())
    await desktop.execute(f"setsid -f {_CHROMIUM} file:///tmp/{case}.html >/dev/null 2>&1")
    deadline = Deadline(60.0)
    while not deadline.passed:
        # Chromium drops clicks before its first picture, which comes after the title.
        observation = await desktop.observe(elements=True, settle=1.0)
        shown = {element.name: element for element in observation.elements or ()}
        if f"{case} ready" in _title(observation) and all(name in shown for name in names):
            return [
                observation.convert(shown[name].box.centre, "image").to_pixels() for name in names
            ]
    raise AssertionError("the page did not come up")


async def _run(
    desktop: PersistentDesktop, folder: Path, replies: Sequence[str], *, policy: str = "never"
) -> tuple[str, str]:
    """Make calls; returns the page's title and the first step's line."""
    tree = {
        "run": {"folder": folder, "confirm": "never"},
        "patterns": {"enabled": False},
        "policy": {"defaults": policy},
    }
    result = await hisa.run(
        Task("order", "Go on with the order."),
        settings=Settings.model_validate(tree),
        model={
            "planner": ScriptedModel([*replies, tool_call("termination", "Enough.")]),
            "state": FunctionModel(lambda _: "Succeeded."),
        },
        environment=desktop,
    )
    line = next(e.line for e in load_run(result.folder).events if isinstance(e, Abstracted))
    return _title(await desktop.observe(settle=0.3)), line


def _click(place: tuple[int, int]) -> str:
    return f"pyautogui.click({place[0]}, {place[1]})"


@pytest.mark.parametrize(
    ("case", "policy"),
    [(case, "never") for case in ("cover", "label", "suggestions", "card", "dialog")]
    + [("cover", "always")],
)
async def test_control_that_appears_during_a_call_is_not_pressed(
    desktop: PersistentDesktop, tmp_path: Path, case: str, policy: str
) -> None:
    places = await _places(desktop, case, "I agree", "Coupon", "Continue")
    agree, coupon, go = map(_click, places)
    typed = f"{coupon}; pyautogui.write('SAVE'); pyautogui.sleep(1)"
    source = {
        "cover": f"{agree}; {go}",
        "label": f"{agree}; {go}",
        "suggestions": f"{typed}; {go}",
        "card": go,
        "dialog": f"{typed}; pyautogui.press('enter')",
    }[case]
    title, line = await _run(desktop, tmp_path, [tool_call("gui_action", source)], policy=policy)
    assert "paid" not in title, line
    assert "Result: Failed" in line
    count = {"cover": "1 of 2 acts", "label": "1 of 2 acts", "card": "nothing was done"}
    assert count.get(case, "2 of 3 acts") in line


async def test_presses_on_unchanged_targets_are_executed(
    desktop: PersistentDesktop, tmp_path: Path
) -> None:
    places = await _places(desktop, "plain", "I agree", "Coupon", "Continue")
    agree, coupon, go = map(_click, places)
    source = f"{agree}; {coupon}; pyautogui.write('SAVE'); pyautogui.sleep(0.2); {go}"
    title, line = await _run(desktop, tmp_path, [tool_call("gui_action", source)], policy="always")
    assert "continued" in title, line
    assert "Result: Succeeded" in line
