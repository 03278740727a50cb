"""Setup steps that work a local web service's page in the machine's own browser."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.benchmarks.tasks.chrome import tabs
from hisa.plugins.benchmarks.tasks.local_pages import PageStep, work_page
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import CommandResult, Task
from hisa.tasks.scorer import TaskScorer
from tests.plugins.benchmarks.tasks.machine import Machine, context, do

PAGE = """
<title>Work</title>
<div id=over><p>News</p><button onclick="over.remove()"> Skip
 it</button></div>
<a href="/assets" onclick="assets.hidden = false; return false">Assets</a>
<div id=assets hidden>
 <button id=again onclick="this.disabled = true; setTimeout(() => this.disabled = false, 400)">
  Reload definitions</button>
 <label for="checkbox-1"><input type=checkbox id="checkbox-1"
  onclick="go.disabled = !this.checked"> all</label>
 <input type=checkbox><input type=checkbox>
 <button id=go disabled onclick="setTimeout(() => more(), 300)">Materialize selected</button>
</div>
<form onsubmit="inside.hidden = !(username.value === 'admin' && password.value === 'admin');
  return false"><input id=username><input id=password type=password>
 <input type=submit value="Sign in"></form>
<a id=inside hidden rel=home href="/superset/welcome/">Home</a>
<script>function more() { for (const n of [1, 2]) document.body.append(
  Object.assign(document.createElement("span"), {textContent: "Materialized"})); }</script>
"""
URL = "http://localhost:8123"


async def build_context(folder: Path, desktop: DesktopEnvironment) -> StepContext:
    """A context of a machine that serves the page and shows another one in its browser."""
    await desktop.write_file("/home/user/index.html", PAGE.encode())
    await desktop.execute("(setsid python3 -m http.server 8123 -d ~ >/dev/null 2>&1 &)")
    chrome = {"type": "google_chrome_browser", "parameters": {"urls": ["data:text/html,first"]}}
    await TaskScorer().prepare(Task(id="t", instruction="x", setup=(chrome,)), desktop)
    return dataclasses.replace(context(folder), environment=desktop)


@pytest.mark.desktop
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
async def test_pages_are_opened_once_and_worked(tmp_path: Path) -> None:
    async with DesktopEnvironment() as desktop:
        on = await build_context(tmp_path, desktop)
        (tmp_path / "task" / "go.js").write_text("() => { document.title = 'by script'; }\n")
        kinds: list[dict[str, Any]] = [
            {"type": "close_popups"},
            {"type": "materialize_assets", "timeout": 9000},
            {"type": "execute_js", "script_path": "go.js"},
        ]
        await do(on, "dagster_webui_init", url=URL, actions=kinds, listening_port=9222)
        assert {tab["title"] for tab in await tabs(on)} == {"by script", "data:text/html,first"}
        state = "!over_ && go.disabled && document.querySelectorAll('span').length === 2"
        state = state.replace("over_", "document.getElementById('over')")
        await work_page(on, URL, [PageStep("run", value=f"if (!({state})) throw 'no'")])

        await do(on, "superset_webui_init", url=URL)
        assert len(await tabs(on)) == 2
        await do(on, "astro_webui_init", url=URL, actions=[{"type": "login"}])
        assert [tab["url"] for tab in await tabs(on)] == [f"{URL}/"]
        await do(on, "astro_refresh_page", listening_port=9222)
        await work_page(on, URL, [PageStep("see", "#over", text="skip it")])

        missing = [PageStep("click", "button", text="Nowhere", seconds=0.5)]
        with pytest.raises(EnvironmentFailed, match=r"click button with 'Nowhere': not there"):
            await work_page(on, URL, missing)
        with pytest.raises(EnvironmentFailed, match="ReferenceError: nosuch"):
            await work_page(on, URL, [PageStep("run", value="nosuch()")])


async def test_web_setup_refuses_foreign_pages_and_unknown_actions(tmp_path: Path) -> None:
    for parameters, message in (
        ({"url": "https://example.org"}, "url"),
        ({"url": "http://localhost.example.org/"}, "url"),
        ({"actions": [{"type": "delete"}]}, "execute_js"),
    ):
        with pytest.raises(UsageError, match=message):
            await do(context(tmp_path), "dagster_webui_init", **parameters)
    bad = [{"type": "execute_js", "script_path": "../../x"}]
    with pytest.raises(UsageError, match="outside"):
        await do(context(tmp_path), "dagster_webui_init", actions=bad)


@pytest.mark.parametrize(
    ("answer", "message", "fix"),
    [
        ({"failed": -1, "why": "refused"}, "refused", "remote-debugging-port"),
        ({"failed": -2, "why": "ERR_CONNECTION_REFUSED"}, "REFUSED", "own script"),
        ({"failed": 0, "why": "click button: not there"}, "not there", "written for"),
        ("{", "cannot be operated", ""),
        ([], "cannot be operated", ""),
    ],
)
async def test_a_page_that_does_not_come_is_the_machines_failure(
    tmp_path: Path, answer: Any, message: str, fix: str
) -> None:
    output = answer if isinstance(answer, str) else json.dumps(answer)
    machine = Machine({"python3": CommandResult(0, output)})
    with pytest.raises(EnvironmentFailed, match=message) as caught:
        await do(context(tmp_path, machine), "superset_webui_init")
    assert fix in (caught.value.fix or "")
