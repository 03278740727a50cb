"""Something is absent, in a real browser: hidden by a question, gone by its answer."""

from __future__ import annotations

import pytest

from hisa.actions import Click, Press
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import Scoring, Task
from hisa.tasks.scorer import TaskScorer
from tests.tasks.test_shown_element import await_element

PAGE = """<!doctype html><meta charset=utf-8><title>Trips</title>
<table border=1><tr id=p><td>Porto</td></tr>
<tr><td>Faro</td></tr></table>
<button onclick="if (confirm('Really?')) p.remove()">Remove</button>
<button onclick="d.showModal()">Terms</button><dialog id=d><p>Dogs travel free.</p></dialog>"""
CHROMIUM = "setsid -f chromium --no-sandbox --test-type /tmp/trips.html >/dev/null 2>&1"
PORTO = {"element": {"role": "table cell", "name": "Porto", "absent": True}}


async def score_absence(desktop: DesktopEnvironment) -> Scoring:
    await desktop.observe(settle=2.0)
    task = Task("trip", "Remove Porto.", check={"all": [PORTO]})
    return await TaskScorer().score(task, desktop, "succeeded")


async def click(desktop: DesktopEnvironment, name: str) -> None:
    await desktop.act([Click((await await_element(desktop, name)).box.centre)])


@pytest.mark.desktop
async def test_a_row_behind_a_question_is_not_absent() -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("/tmp/trips.html", PAGE.encode())
        await desktop.execute(CHROMIUM)
        await click(desktop, "Terms")
        modal = await score_absence(desktop)
        assert (modal.state, modal.value) == ("score_failed", None), modal.detail
        await desktop.act([Press("esc")])
        await click(desktop, "Remove")
        question = await score_absence(desktop)
        assert (question.state, question.value) == ("score_failed", None), question.detail
        assert "This page says" in question.detail
        await desktop.act([Press("esc")])
        assert (await score_absence(desktop)).value == 0.0
        await click(desktop, "Remove")
        await desktop.observe(settle=2.0)
        await desktop.act([Press("enter")])
        gone = await score_absence(desktop)
        assert gone.value == 1.0, gone.detail
