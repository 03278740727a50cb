"""Tasks of Spider2-V's shape, made by `benchmarks.spider2v_tasks`, which runs all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.spider2v_tasks.made import MAKERS, write_task
from benchmarks.spider2v_tasks.trial import DOMAINS, tried
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.tree import find_tree
from hisa.tasks.find_format import problems
from hisa.tasks.taskfile import load_task

BUILD = "hisa machine build spider2v"
built = pytest.mark.skipif(find_tree(recipe("spider2v")) is None, reason=f"not built: {BUILD}")


@pytest.mark.parametrize("domain", DOMAINS)
def test_what_is_made_is_a_task_of_the_benchmark(domain: str, tmp_path: Path) -> None:
    assert set(DOMAINS) == set(MAKERS)
    task = load_task(write_task(tmp_path, domain))
    assert (task.domain, task.format) == (domain, "spider2v")
    assert problems(task) == []


@pytest.mark.desktop
@built
async def test_a_project_of_dbt_is_set_up_built_in_a_terminal_and_scored(tmp_path: Path) -> None:
    found = await tried("dbt", tmp_path, idle=False)
    assert (found.score, found.status) == (1.0, "succeeded"), found.detail
