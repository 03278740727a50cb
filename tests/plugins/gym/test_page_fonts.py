"""A page that is laid out for a font is refused, and never scored 0, where the font is missing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.gym.miniwob.show_page import SETUP_STEP
from hisa.protocols import CommandResult, Task
from hisa.tasks.scorer import TaskScorer
from hisa.testing.form import FakeEnvironment


class Fonts(FakeEnvironment):
    """A machine on which this font is drawn for Arial; None: it cannot tell."""

    def __init__(self, font: str | None) -> None:
        super().__init__()
        self.font, self.asked = font, 0

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        if "fc-match" not in command:
            raise EnvironmentFailed("the setup began")
        self.asked += 1
        return CommandResult(127 if self.font is None else 0, self.font or "")


def page(name: str) -> Task:
    step = {"type": SETUP_STEP, "parameters": {"task": name, "seed": 0}}
    check = {"func": "miniwob_solved", "result": {"type": "miniwob_reward"}}
    return Task(id=name, instruction="x", domain="browser", setup=(step,), check=check)


@pytest.mark.parametrize("font", ["DejaVu Sans", "Nimbus Sans"])
async def test_without_its_font_a_page_has_no_score_and_says_what_to_install(font: str) -> None:
    machine, task = Fonts(font), page("daily-calendar")
    with pytest.raises(EnvironmentFailed, match=rf"as wide as Arial.*'{font}'") as caught:
        await TaskScorer().prepare(task, machine)
    assert "fonts-liberation" in caught.value.fix
    with pytest.raises(EnvironmentFailed, match="as wide as Arial"):
        await TaskScorer().score(task, machine, "infeasible")  # a score of 0 else


@pytest.mark.parametrize(
    ("name", "font", "asked"),
    [
        ("daily-calendar", "Liberation Sans", 1),
        ("daily-calendar", "Arimo,Arimo Regular", 1),
        ("daily-calendar", None, 1),
        ("click-test", "DejaVu Sans", 0),
    ],
)
async def test_with_it_or_where_it_makes_no_difference_the_setup_begins(
    name: str, font: str | None, asked: int
) -> None:
    machine = Fonts(font)
    with pytest.raises(EnvironmentFailed, match="the setup began"):
        await TaskScorer().prepare(page(name), machine)
    assert machine.asked == asked
