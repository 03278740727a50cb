"""Benchmarks' tasks on a real desktop: LibreOffice opens and saves, Chromium tells its pages."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

from hisa.actions import parse, to_space
from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.osworld_metrics.index import find_installation, missing_packages
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import Task
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from tests.plugins.benchmarks.tasks.machine import context
from tests.plugins.benchmarks.tasks.test_spider2v import FILES

pytestmark = pytest.mark.desktop
needs_calc = pytest.mark.skipif(shutil.which("libreoffice") is None, reason="needs LibreOffice")
needs_package = pytest.mark.skipif(
    bool(missing_packages("compare_table")) or not find_installation().folder,
    reason="needs OSWorld's package: hisa install osworld",
)
needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")


@needs_calc
@needs_package
async def test_a_workbook_is_opened_edited_and_saved_before_scoring() -> None:
    task = load_task(next(path for path in FILES if path.stem.startswith("ff4b997b")))
    check: Any = task.check
    async with DesktopEnvironment() as desktop:
        scorer = TaskScorer()
        await scorer.prepare(task, desktop)
        observation = await desktop.observe(settle=1.0)
        assert [window.title.split()[0] for window in observation.windows] == [
            "SmallBalanceSheet.xlsx"
        ]
        before = await desktop.read_file(check["result"]["path"])
        typed = parse("pyautogui.hotkey('ctrl', 'home'); pyautogui.write('changed\\n')")
        await desktop.act(
            to_space(typed, "screen", screen=observation.screen, image=observation.screen)
        )
        assert (await scorer.score(task, desktop, "succeeded")).value == 0.0
        assert await desktop.read_file(check["result"]["path"]) != before


@needs_chromium
async def test_a_browser_started_by_a_task_shows_its_address_and_its_page(tmp_path: Path) -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("/home/user/cats-1.html", b"<title>Cats</title><h1>All cats</h1>")
        await desktop.execute("(setsid python3 -m http.server 8123 -d ~ >/dev/null 2>&1 &)")
        chrome = ["google-chrome", "--remote-debugging-port=1337"]
        page = "http://127.0.0.1:8123/cats-1.html?q=tom"
        setup = (
            {"type": "launch", "parameters": {"command": chrome}},
            {"type": "chrome_open_tabs", "parameters": {"urls_to_open": [page]}},
        )
        await TaskScorer().prepare(Task(id="t", instruction="x", setup=setup), desktop)
        for _ in range(60):
            observation = await desktop.observe(elements=True)
            if any(element.name == "All cats" for element in observation.elements or ()):
                break
            await asyncio.sleep(1.0)
        assert next(e.role for e in observation.elements or () if e.name == "All cats") == "heading"
        where = dataclasses.replace(context(tmp_path), environment=desktop, phase="score")
        for kind, config, expected in (
            ("active_url_from_accessTree", {"goto_prefix": "http://"}, page),
            ("active_tab_url_parse", {"parse_keys": ["q"]}, {"q": "tom"}),
            ("open_tabs_info", {}, [{"title": "Cats", "url": page}]),
        ):
            known = GETTERS.get(kind)
            assert known is not None
            assert await known.run(where, known.model.model_validate(config)) == expected


async def test_a_task_whose_page_is_not_reached_is_neither_begun_nor_scored() -> None:
    """A private desktop has no network: what is missing is named, and nothing is started."""
    setup: Any = (
        {"type": "launch", "parameters": {"command": ["mousepad"]}},
        {"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["https://shop.example/x"]}},
    )
    check = {
        "func": "check_include_exclude",
        "result": {"type": "active_tab_info"},
        "expected": {"type": "rule", "rules": {"include": ["cart"]}},
    }
    task = Task(id="t", instruction="x", setup=setup, check=check)
    async with DesktopEnvironment() as desktop:
        with pytest.raises(EnvironmentFailed, match=r"does not reach: https://shop\.example/x \("):
            await TaskScorer().prepare(task, desktop)
        assert (await desktop.observe()).windows == ()
        with pytest.raises(EnvironmentFailed, match=r"https://shop\.example"):
            await TaskScorer().score(task, desktop, "succeeded")


async def test_a_command_that_fails_to_open_its_terminal_is_a_setup_that_failed() -> None:
    """As published tasks start one: by the session bus of the first user."""
    lines = "export DBUS_SESSION_BUS_ADDRESS='unix:path={}'\n{} --title=Here"

    def task(bus: str, program: str) -> Task:
        parameters = {"command": lines.format(bus, program), "shell": True}
        return Task(id="t", instruction="x", setup=({"type": "execute", "parameters": parameters},))

    async with DesktopEnvironment() as desktop:
        bus_test = await desktop.execute("test -S /run/user/1000/bus")
        assert bus_test.exit_code == 0
        broken = "printf '#!/bin/sh\\necho no terminal today >&2; exit 1' >gnome-terminal"
        await desktop.execute(f"mkdir -p ~/.local/bin && cd ~/.local/bin && {broken} && chmod +x *")
        program = "PATH=$HOME/.local/bin:$PATH gnome-terminal"
        with pytest.raises(EnvironmentFailed, match="ended with 1 and opened no window: no term"):
            await TaskScorer().prepare(task("/run/user/1000/bus", program), desktop)
        await TaskScorer().prepare(task("/run/user/1000/bus", "ls /nowhere; false"), desktop)
