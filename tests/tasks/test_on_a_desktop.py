"""A benchmark's task on a real desktop: LibreOffice opens, and saves before scoring."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from hisa.actions import parse, to_space
from hisa.environments.desktop import DesktopEnvironment
from hisa.tasks.files import load_task
from hisa.tasks.scorer import TaskScorer
from tests.tasks.test_spider2v import FILES

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(shutil.which("libreoffice") is None, reason="needs LibreOffice Calc"),
]


async def test_a_workbook_is_opened_edited_and_saved_before_scoring() -> None:
    task = load_task(next(path for path in FILES if path.stem.startswith("ff4b997b")))
    check: Any = task.check
    async with DesktopEnvironment() as desktop:
        scorer = TaskScorer()
        await scorer.prepare(task, desktop)
        seen = await desktop.observe(settle=1.0)
        assert [window.title.split()[0] for window in seen.windows] == ["SmallBalanceSheet.xlsx"]
        before = await desktop.read_file(check["result"]["path"])
        typed = parse("pyautogui.hotkey('ctrl', 'home'); pyautogui.write('changed\\n')")
        await desktop.act(to_space(typed, "screen", screen=seen.screen, image=seen.screen))
        assert (await scorer.score(task, desktop, "succeeded"))[0] == 0.0
        assert await desktop.read_file(check["result"]["path"]) != before
