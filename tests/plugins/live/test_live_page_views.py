"""Every view of the live page in a real browser: hostile texts do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hisa.events import (
    Abstracted,
    Acted,
    Confirmed,
    Decided,
    PersonActed,
    Planned,
    RunFinished,
    StepFinished,
)
from hisa.protocols import Task
from hisa.runs.log import RunLog
from tests.chromium import NEEDED
from tests.plugins.live.live_page import HOSTILE, World, world
from tests.runs.sample import look

pytestmark = [
    pytest.mark.browser, pytest.mark.process,
    NEEDED,
]  # fmt: skip
STEP = {"thought", "input", "title", "output", "line", "deed", "decision"}
RUN = {*STEP, "task", "model", "environment"}
SHOWN = {
    "desktops": {"task"},
    "runs": {"task", "environment"},
    "run/OVER": RUN,
    "run/LIVE": RUN,
}
"""Which hostile texts each view has to show as they are."""
ALL_THERE = """const all = document.body.textContent
    + [...document.querySelectorAll("textarea")].map((area) => area.value).join();
return arguments[0].every((text) => all.includes(text));"""


def text(field: str) -> str:
    """The hostile text of a field."""
    return f"{field} {HOSTILE}"


def log_hostile_run(runs: Path) -> RunLog:
    """A run at work with hostile texts wherever one can stand."""
    log = RunLog.create(
        runs,
        Task("t-1", text("task")),
        models={"planner": text("model")},
        environment=text("environment"),
    )
    look(log, text("title"))
    log.step = 1
    input_text, places = text("input"), ((9.0, 9.0),)
    for event in (
        Planned(thought=text("thought"), tool="bash_execution", input=input_text),
        Decided(tool="bash", what=text("decision"), verdict="ask", allowed=True, asked=True),
        Confirmed(what=text("decision"), allowed=True, answer="once"),
        PersonActed(did="acted", text=text("deed")),
        Acted(
            tool="bash_execution", input=input_text, points=places, ok=True, output=text("output")
        ),
        Abstracted(line=text("line"), result=text("line"), roi=(0, 0, 5, 5)),
        StepFinished(seconds={"plan": 1.0}),
    ):
        log.emit(event)
    return log


@pytest.fixture(scope="module")
def live_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("page")
    runs = folder / "runs"
    with ExitStack() as stack:
        with log_hostile_run(runs) as over:
            over.emit(RunFinished(exit_status="succeeded", message=text("output")))
        live = stack.enter_context(log_hostile_run(runs))
        new_world = stack.enter_context(world(folder))
        new_world.names = {"OVER": over.id, "LIVE": live.id}
        new_world.page.enter()
        yield new_world


def show(live_world: World, view: str) -> None:
    """Show a view, and wait until it has what it shows."""
    parts = [live_world.names.get(part, part) for part in view.split("/")]
    live_world.page.go("/".join([parts[0], *map(live_world.page.quote_part, parts[1:])]))
    live_world.page.until(ALL_THERE, [text(field) for field in sorted(SHOWN[view])])


def test_hostile_texts_are_shown_and_do_nothing(live_world: World) -> None:
    page, count = live_world.page, 0
    for view, fields in SHOWN.items():
        show(live_world, view)
        page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        page.inert()
        count += len(fields)
    assert page.complaints() == []
    print(f"{count} hostile texts shown in {len(SHOWN)} views, 0 at work")
