"""Tasks of ours in OSWorld's shape can be read, need what they say, and score 1 done, 0 undone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.standins.runs import outcome
from benchmarks.standins.stand_in import StandIn
from benchmarks.standins.tasks import STANDINS
from hisa.plugins.benchmarks.tasks.needs import needed_apps
from hisa.plugins.benchmarks.tasks.public import public_tasks
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.tree import find_tree
from hisa.tasks.find_format import sorted_problems
from hisa.tasks.taskfile import load_task

BY_ID = {one.task["id"]: one for one in STANDINS}
osworld = pytest.mark.skipif(
    find_tree(recipe("osworld")) is None, reason="needs: hisa machine build osworld"
)


def test_every_domain_and_kind_of_step_of_the_published_tasks_has_one() -> None:
    published = public_tasks("osworld")
    kinds = {name for task in published for kind, name in task.pieces if kind == "setup"}
    assert {one.domain for one in STANDINS} == {task.domain for task in published}
    assert {kind for one in STANDINS for kind in one.kinds} - {"then"} == kinds


@pytest.mark.parametrize("one", STANDINS, ids=lambda one: one.task["id"])
def test_it_lacks_nothing_but_what_it_is_refused_for(one: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "examples" / one.domain / "task.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(one.task))
    task = load_task(path)
    said = [
        problem.text for problem in sorted_problems(task) if "OSWorld's package" not in problem.text
    ]
    said += [app.title for app in needed_apps(task)] if one.refused else []
    assert bool(said) is bool(one.refused)
    assert not one.refused or any(one.refused in text for text in said)


@pytest.mark.desktop
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("standin-os-editor", "desktop"),
        pytest.param("standin-os-lines", "desktop:osworld", marks=osworld),
    ],
)
@pytest.mark.parametrize("done", [True, False], ids=["done", "undone"])
async def test_it_scores_1_done_and_0_undone(
    name: str, kind: str, done: bool, tmp_path: Path
) -> None:
    found = await outcome(BY_ID[name], done=done, kind=kind, folder=tmp_path)
    assert found.score == float(done), found.why
