"""Candidates that are tried on forks of the machine before one of them is chosen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PIL import Image

import hisa
from hisa.config import Settings, load
from hisa.errors import ConfigError, EnvironmentFailed, UsageError
from hisa.events import Acted, Forked
from hisa.protocols import Environment, GroundedCall, Outcome, Trial
from hisa.runs.read import load_run
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot, Window
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, ScriptedModel
from tests.bench import click as clicks
from tests.bench import done, state_words
from tests.planner.test_scaling import ALSO_SAVE, SAVE, Bench, click, verdict

OPEN = click("Open")
END = done()


class Results:
    """Says what came of each call, and keeps what was asked."""

    def __init__(self, *results: Trial | Exception) -> None:
        self._results = results
        self.asked: list[Sequence[GroundedCall]] = []

    async def try_out(
        self, calls: Sequence[GroundedCall], observation: Observation
    ) -> Sequence[Trial]:
        self.asked.append(calls)
        for result in self._results:
            if isinstance(result, Exception):
                raise result
        return [result for result in self._results if isinstance(result, Trial)]


def seen(title: str, colour: str) -> Trial:
    picture = Screenshot(Image.new("RGB", (200, 100), colour))
    window = Window("1", title, "app", active=True)
    return Trial(Outcome(ok=True), Observation(picture, Size(200, 100), (window,)))


async def test_the_judge_sees_what_came_of_both() -> None:
    trials = Results(seen("Saved <notice>", "green"), seen("Open a file", "red"))
    bench = Bench([SAVE, OPEN], [verdict(2)], scaling="frugal", trials=trials)
    call = await bench.plan()
    assert call.description == "Open"
    assert bench.chosen.by == "forks"
    ((first, second),) = trials.asked
    assert (first.call.description, second.call.description) == ("Save", "Open")
    (request,) = bench.judge.requests
    assert request.images == 3
    assert [picture.size.width for picture in request.pictures] == [200] * 3
    assert '"index": 1, "ok": true, "windows": ["Saved ' in request.text
    assert "<notice>" not in request.text.partition("<results>")[2]
    assert "was carried out on a copy of the machine" in request.text
    (forked,) = bench.told(Forked)
    assert (forked.tried, forked.ok, forked.error) == ((1, 2), (True, True), "")
    kinds = [event.type for event in bench.events]
    assert kinds == ["sampled", "sampled", "forked", "judged", "chosen", "planned"]


async def test_agreement_is_not_tried() -> None:
    trials = Results()
    bench = Bench([SAVE, ALSO_SAVE], trials=trials)
    await bench.plan()
    assert trials.asked == []


async def test_the_two_that_most_agree_on_are_tried() -> None:
    trials = Results(seen("A", "green"), seen("B", "red"))
    replies = [OPEN, SAVE, click("Close"), ALSO_SAVE]
    bench = Bench(replies, [verdict(1)], samples=4, scaling="constant", trials=trials)
    call = await bench.plan()
    assert call.description == "Save"
    ((first, second),) = trials.asked
    assert (first.call.description, second.call.description) == ("Save", "Open")


@pytest.mark.parametrize("other", [END, click("nowhere")])
async def test_what_ends_a_run_or_was_not_found_is_not_tried(other: str) -> None:
    trials = Results(seen("A", "green"))
    bench = Bench([SAVE, other], [verdict(1)], scaling="frugal", trials=trials)
    await bench.plan()
    assert trials.asked == []
    assert bench.chosen.by == "judge"


async def test_a_machine_that_cannot_be_forked_leaves_it_to_the_judge() -> None:
    trials = Results(EnvironmentFailed("no room for a fork"))
    bench = Bench([SAVE, OPEN], [verdict(1)], scaling="frugal", trials=trials)
    await bench.plan()
    (forked,) = bench.told(Forked)
    assert forked.error == "no room for a fork"
    assert bench.chosen.by == "judge"
    (request,) = bench.judge.requests
    assert "<results>" not in request.text
    assert "copy of the machine" not in request.text


async def test_a_fork_that_breaks_says_so_to_the_judge() -> None:
    broken = Trial(Outcome(ok=False, error="its fork broke: gone"), None)
    trials = Results(broken, seen("B", "red"))
    bench = Bench([SAVE, OPEN], [verdict(2)], scaling="frugal", trials=trials)
    await bench.plan()
    (request,) = bench.judge.requests
    assert '"ok": false, "error": "its fork broke: gone", "screen": "not seen"' in request.text
    assert request.images == 2


async def test_none_good_after_trials_asks_for_fresh_ones() -> None:
    trials = Results(seen("A", "green"), seen("B", "red"))
    replies = [SAVE, OPEN, click("Close"), click("Close"), click("Close")]
    bench = Bench(replies, [verdict(None), verdict(1)], samples=3, scaling="frugal", trials=trials)
    call = await bench.plan()
    assert call.description == "Close"
    assert len(trials.asked) == 1


class Forking(FakeEnvironment):
    """A form that can be forked."""

    def __init__(self, *, breaks: bool = False) -> None:
        super().__init__()
        self.forks: list[FakeEnvironment] = []
        self._breaks = breaks

    @property
    def capabilities(self) -> frozenset[str]:
        return super().capabilities | {"fork"}

    @asynccontextmanager
    async def forked(self, count: int, /) -> AsyncIterator[Sequence[Environment]]:
        machines = [FakeEnvironment(fail_after=0 if self._breaks else None) for _ in range(count)]
        self.forks += machines
        yield machines


def settings(folder: Path, *, samples: int = 4, fork: bool = True) -> Settings:
    return load(
        overrides={
            "run": {"folder": folder},
            "planner": {"samples": samples},
            "environment": {"kind": "vm:minimal", "fork": fork},
            "patterns": {"enabled": False},
            "grounder": {"kind": "elements"},
        },
        environ={},
    )


SAVING = clicks('button "Save"')
NAMING = clicks("the field labelled Name", "pyautogui.write('Ada')")


async def test_only_the_winner_is_done_on_the_runs_machine(tmp_path: Path) -> None:
    environment = Forking()
    planner = ScriptedModel([SAVING, NAMING, END, END])
    judge = ScriptedModel([verdict(2), verdict(1)])
    result = await hisa.run(
        "Enter the name.",
        settings=settings(tmp_path),
        model={"planner": planner, "state": FunctionModel(state_words), "judge": judge},
        environment=environment,
    )
    run = load_run(result.folder)
    acted = [event for event in run.events if isinstance(event, Acted)]
    assert [event.tool for event in acted] == ["gui_action", "termination"]
    assert environment.text == "Ada"
    saved, named = environment.forks
    assert (saved.text, named.text) == ("", "Ada")
    assert await saved.read_file("/home/user/form.txt") == b""
    assert run.totals.sampling is not None
    assert (run.totals.sampling.forked, run.totals.sampling.judged) == (1, 2)


async def test_forks_that_break_break_no_run(tmp_path: Path) -> None:
    environment = Forking(breaks=True)
    planner = ScriptedModel([SAVING, NAMING, END, END])
    judge = ScriptedModel([verdict(2), verdict(1)])
    result = await hisa.run(
        "Enter the name.",
        settings=settings(tmp_path),
        model={"planner": planner, "state": FunctionModel(state_words), "judge": judge},
        environment=environment,
    )
    assert result.status == "succeeded"
    (forked,) = [e for e in load_run(result.folder).events if isinstance(e, Forked)]
    assert forked.ok == (False, False)
    assert all("its fork broke" in told for told in forked.results)


@pytest.mark.parametrize(
    ("environment", "samples", "told"),
    [(FakeEnvironment(), 4, "fake cannot be forked"), (Forking(), 1, "planner.samples is 1")],
)
async def test_what_cannot_be_forked_is_refused(
    tmp_path: Path, environment: FakeEnvironment, samples: int, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        await hisa.run(
            "Enter the name.",
            settings=settings(tmp_path, samples=samples),
            model={"planner": ScriptedModel([]), "state": FunctionModel(state_words)},
            environment=environment,
        )


async def test_a_private_desktop_is_refused_before_it_starts(tmp_path: Path) -> None:
    chosen = load(overrides={"environment": {"fork": True}}, environ={})
    with pytest.raises(UsageError, match="'desktop' cannot be forked; only a virtual machine"):
        await hisa.run("Do it.", settings=chosen)
