"""A setting and a document changed by hand on a private desktop: facts, check, and undo."""

from __future__ import annotations

import shutil

import pytest

from hisa.config import Settings
from hisa.environments.open_environment import open_environment
from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.distinct_effects import essential
from hisa.plugins.synthesis.doing import replay
from hisa.plugins.synthesis.machine_facts import Noise, changed, read_facts
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.rewrite import write_command
from hisa.plugins.synthesis.task_records import Effect
from hisa.protocols import Task
from hisa.tasks.scorer import TaskScorer

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(not shutil.which("mousepad"), reason="no mousepad"),
]
SETUP = (
    {"write": {"path": "~/notes.txt", "text": "one\n"}},
    {"launch": "mousepad ~/notes.txt"},
    {"wait_window": {"title": "notes.txt"}},
)


@pytest.mark.asyncio
async def test_two_acts_are_checked_and_undone() -> None:
    scorer = TaskScorer()
    async with open_environment(Settings().environment) as desktop:
        await scorer.prepare(Task("start", "Start.", setup=SETUP), desktop)
        await replay(desktop, [Act(kind="press", keys=("ctrl", "end"))])
        start = await read_facts(desktop)
        acts = [
            Act(kind="click", role="menu", name="View"),
            Act(kind="click", role="menu item", name="Line Numbers", within=("View",)),
            Act(kind="type", text="two"),
            Act(kind="press", keys=("ctrl", "s")),
        ]
        await replay(desktop, acts)
        changes = essential(Noise().without(changed(start, await read_facts(desktop))))
        assert [(change.fact.place, change.after) for change in changes] == [
            ("org.xfce.mousepad.preferences.view", "true"),
            ("~/notes.txt", "one\ntwo"),
        ]
        checks = check_of(Effect(id="e", changes=changes, triples=(0,)))
        assert not isinstance(checks, str)
        task = Task("end", "Do it.", check={"all": list(checks)})
        assert (await scorer.score(task, desktop, "succeeded")).value == 1.0
        for change, left in zip(changes, (0.5, 0.0), strict=True):
            line = write_command(change.fact, change.before)
            assert line is not None
            assert (await desktop.execute(line)).exit_code == 0
            assert (await scorer.score(task, desktop, "succeeded")).partial == left
        assert Noise().without(changed(start, await read_facts(desktop))) == ()
