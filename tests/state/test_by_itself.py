"""What goes on by itself is no step's effect: clocks, prices and headlines beside a button."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.actions import Click
from hisa.config import StateSettings
from hisa.events import Abstracted, Event
from hisa.protocols import Outcome, StepVerdict
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation
from hisa.state.manager import HierarchicalState, build_state
from hisa.testing.scripted import FunctionModel
from tests.state.scene import click, element, look

CLOCK = BoundingBox(400, 20, 560, 40, "screen")
BUTTON = element("push button", "Check in", BoundingBox(240, 360, 300, 390, "screen"))
STATUS = BoundingBox(40, 200, 240, 220, "screen")
CLICK = replace(click(131, 187, thought="Click Check in."), actions=(Click(Point(131, 187)),))


def shown(clock: str, status: str = "Ready", at: float = 100.0) -> Observation:
    """A page with a clock, whose picture is another for each of its texts."""
    parts = [(200 + 8 * number, 10, 206 + 8 * number, 20) for number in range(int(clock[-2:]))]
    parts += [(20, 100, 20 + len(status) * 4, 108)]
    elements: tuple[Element, ...] = (
        element("static", clock, CLOCK, clock),
        element("static", status, STATUS, status),
        BUTTON,
    )
    return replace(look(*parts, elements=elements), at=at)


class Run:
    """A state manager whose model claims nothing."""

    def __init__(self, *later: Observation) -> None:
        self.events: list[Event] = []
        self.later = list(later)
        settings = StateSettings.model_validate({"steps": "raw"})
        model = FunctionModel(lambda request: "Changed.")
        self.state: HierarchicalState = build_state(
            model,
            settings,
            emit=self.events.append,
            again=self.look_again if later else None,
        )

    async def look_again(self) -> Observation:
        return self.later.pop(0)

    async def verdict(self, before: Observation, after: Observation) -> StepVerdict | None:
        await self.state.abstract(CLICK, before, after, Outcome(ok=True))
        return [event.verdict for event in self.events if isinstance(event, Abstracted)][-1]


async def test_idle_clock_tick_does_not_count_as_effect() -> None:
    run = Run()
    observations = [shown(f"10:00:0{second}", at=100.0 + second) for second in range(1, 10)]
    await run.verdict(observations[0], observations[1])
    run.state.view(observations[2])
    await run.verdict(observations[3], observations[4])
    run.state.view(observations[5])
    assert await run.verdict(observations[5], observations[6]) == "no_change"
    run.state.view(observations[7])
    effect = replace(shown("10:00:09", "Checked in"), at=110.0)
    assert await run.verdict(observations[7], effect) != "no_change"


async def test_clock_tick_after_the_first_click_does_not_count_as_effect() -> None:
    run = Run(shown("10:00:03", at=102.2))
    assert await run.verdict(shown("10:00:01"), shown("10:00:02", at=101.0)) == "no_change"


@pytest.mark.parametrize("words", ["{}", "{} %", "step {} of 50"])
async def test_idle_progress_bar_does_not_count_as_effect(words: str) -> None:
    run = Run()
    observations = [shown(f"10:00:{20 + n}", at=100.0 + n) for n in range(8)]
    observations = [
        replace(
            page,
            elements=(
                element("progress bar", "Load", CLOCK, words.format(20 + n)),
                *(page.elements or ())[1:],
            ),
        )
        for n, page in enumerate(observations)
    ]
    await run.verdict(observations[0], observations[1])
    run.state.view(observations[2])
    await run.verdict(observations[3], observations[4])
    run.state.view(observations[5])
    assert await run.verdict(observations[5], observations[6]) == "no_change"


async def test_a_text_that_stays_after_the_click_is_an_effect() -> None:
    run = Run(shown("10:00:01", "Checked in", at=102.2))
    after = shown("10:00:01", "Checked in", at=101.0)
    assert await run.verdict(shown("10:00:01"), after) != "no_change"


@pytest.mark.parametrize("words", ["Closed 03", "10:00:03 late"])
async def test_words_replacing_a_clock_count_as_effect(words: str) -> None:
    run = Run()
    observations = [shown(f"10:00:0{second}", at=100.0 + second) for second in range(1, 8)]
    for number in (0, 2, 4):
        await run.verdict(observations[number], observations[number + 1])
        run.state.view(observations[number + 2])
    other = shown("10:00:07", at=108.0)
    named = element("static", words, CLOCK, words)
    after = replace(other, elements=(named, *(other.elements or ())[1:]))
    assert (
        await run.verdict(observations[6], replace(after, screenshot=look().screenshot))
        != "no_change"
    )


async def test_a_screen_that_only_ticks_does_not_count_as_moved() -> None:
    run = Run()
    observations = [shown(f"10:00:0{second}", at=100.0 + second) for second in range(1, 8)]
    for number in (0, 2):
        await run.verdict(observations[number], observations[number + 1])
        run.state.view(observations[number + 2])
    await run.verdict(observations[4], observations[5])
    assert "the screen changed" not in run.state.view(observations[6]).steps[-1]
