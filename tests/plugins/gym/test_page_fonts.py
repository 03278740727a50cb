"""A page that is laid out for a font is refused, and never scored 0, where the font is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.gym.gym_page import gym_task
from hisa.plugins.gym.miniwob.show_page import SETUP_STEP
from hisa.protocols import CommandResult, Task
from hisa.tasks.scorer import TaskScorer
from hisa.testing.form import FakeEnvironment


class Fonts(FakeEnvironment):
    """A machine on which this font is drawn for Arial; None: it cannot tell."""

    def __init__(self, font: str | None) -> None:
        super().__init__()
        self.font, self.query_count = font, 0

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        if "fc-match" not in command:
            raise EnvironmentFailed("the setup began")
        self.query_count += 1
        return CommandResult(127 if self.font is None else 0, self.font or "")


def page(name: str) -> Task:
    step = {"type": SETUP_STEP, "parameters": {"task": name, "seed": 0}}
    check = {"func": "miniwob_solved", "result": {"type": "miniwob_reward"}}
    return Task(id=name, instruction="x", domain="browser", setup=(step,), check=check)


async def test_page_without_its_font_is_not_scored_and_names_the_package() -> None:
    machine, task = Fonts("DejaVu Sans"), page("daily-calendar")
    with pytest.raises(EnvironmentFailed, match=r"as wide as Arial.*'DejaVu Sans'") as caught:
        await TaskScorer().prepare(task, machine)
    assert "fonts-liberation" in caught.value.fix
    with pytest.raises(EnvironmentFailed, match="as wide as Arial"):
        await TaskScorer().score(task, machine, "infeasible")  # a score of 0 else


@pytest.mark.parametrize(
    ("name", "font", "query_count"),
    [
        ("daily-calendar", "Liberation Sans", 1),
        ("daily-calendar", None, 1),
        ("click-test", "DejaVu Sans", 0),
    ],
)
async def test_setup_begins_where_the_font_fits_or_does_not_matter(
    name: str, font: str | None, query_count: int
) -> None:
    machine = Fonts(font)
    with pytest.raises(EnvironmentFailed, match="the setup began"):
        await TaskScorer().prepare(page(name), machine)
    assert machine.query_count == query_count


class Staged(FakeEnvironment):
    """BrowserGym, whose browser runs on this machine and which runs no commands."""

    over = ""
    capabilities = frozenset({"elements", "throw_away"})

    async def stage(self, task: str, options: Mapping[str, Any], seed: int) -> str:
        return "Create an event."

    async def reward(self) -> tuple[float, str]:
        return 0.0, ""


@pytest.mark.process
async def test_browsergym_uses_the_fonts_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "fc-match"
    program.write_text("#!/bin/sh\nprintf 'DejaVu Sans'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(EnvironmentFailed, match="as wide as Arial"):
        await TaskScorer().prepare(gym_task("browsergym:miniwob.daily-calendar"), Staged())
