"""Every view of the live page in a real browser: hostile texts, keys alone, and who is let in."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from starlette.routing import Route, WebSocketRoute

from hisa.config import load
from hisa.events import (
    Abstracted,
    Acted,
    Confirmed,
    Decided,
    PersonActed,
    PersonAsked,
    Planned,
    RunFinished,
    StepFinished,
)
from hisa.patterns.embedders.minilm import MiniLM
from hisa.patterns.pattern_text import retrieval_texts
from hisa.patterns.stores.edge import EdgeStore
from hisa.plugins.live.server.application import application
from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.started_runs import StartedRuns
from hisa.protocols import Task
from hisa.runs.log import RunLog
from tests.patterns.conformance import pattern
from tests.plugins.live.live_page import CHROMIUM, DRIVER, HOSTILE, World, world
from tests.plugins.live.serving import wait_for
from tests.plugins.live.test_serve_security import ask, closed
from tests.runs.sample import Screen, Writer

pytestmark = [
    pytest.mark.browser, pytest.mark.process,
    pytest.mark.skipif(
        not (CHROMIUM.exists() and DRIVER.exists()),
        reason="needs Chromium and its driver: apt-get install chromium chromium-driver",
    ),
]  # fmt: skip
BENCHES = Path(__file__).parents[2] / "data" / "before_plugins"
BENCH = "b <img src=x onerror=window.__hit=4>"
SAVE = f"Press Ctrl+S to save the document. {HOSTILE}"
STEP = "thought input title output line question answer deed act window decision"
RUN = {*STEP.split(), "task", "model", "environment"}
SHOWN = {
    "desktops": {"task"},
    "runs": {"task", "environment"},
    "run/OVER": RUN - {"act"},
    "run/LIVE": RUN - {"act"},
    "compare/OVER/LIVE": RUN - {"act", "model", "environment"},
    "benches": {"suite", "variant", "bench"},
    "benches/BENCH": {"bench"},
    "benches/BENCH/other": {"bench"},
    "patterns": {"lesson", "condition"},
    "patterns/save1": {"lesson"},
    "tools": {"question", "answer", "deed", "decision"},
    "start": set[str](),
}
"""Which hostile texts each view has to show as they are."""


def text(field: str) -> str:
    """The hostile text of a field."""
    return BENCH if field == "bench" else SAVE if field == "lesson" else f"{field} {HOSTILE}"


def a_run(runs: Path) -> RunLog:
    """A run at work with hostile texts wherever one can stand."""
    log = RunLog.create(
        runs, Task("t-1", text("task")), models={"planner": text("model")},
        environment=text("environment"),
    )  # fmt: skip
    writer = Writer(log, Screen(title=text("title")))
    writer.look()
    log.step = 1
    deed, places = text("input"), ((9.0, 9.0),)
    for event in (
        Planned(thought=text("thought"), tool="bash_execution", input=deed),
        Decided(tool="bash", what=text("decision"), verdict="ask", allowed=True, asked=True),
        Confirmed(what=text("decision"), allowed=True, answer="once"),
        PersonAsked(kind="question", text=text("question"), answer=text("answer"), by="person"),
        PersonActed(did="acted", text=text("deed")),
        Acted(tool="bash_execution", input=deed, points=places, ok=True, output=text("output")),
        Abstracted(line=text("line"), result="success", roi=(0, 0, 5, 5)),
        StepFinished(seconds={"plan": 1.0}),
    ):
        log.emit(event)
    return log


def a_bench(place: Path, name: str) -> None:
    """A copy of a bench of two tasks, with a hostile name, suite and variant."""
    folder = Path(shutil.copytree(BENCHES / "bench", place / name))
    plan = json.loads((folder / "bench.json").read_text())
    plan["suite"] = text("suite")
    (folder / "bench.json").write_text(json.dumps(plan))


def a_store(folder: Path) -> None:
    """Two patterns, really embedded."""
    embedder = MiniLM()
    store = EdgeStore(folder, embedder)
    for row in (
        pattern("save1", lesson=SAVE, condition=text("condition"), source_run="run-7"),
        pattern("sort1", lesson="Sort a table by its first column."),
    ):
        row = replace(row, embedder=embedder.name)
        store.put(row, *embedder.embed(retrieval_texts(row)))
    store.close()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("page")
    runs = folder / "runs"
    for name in (BENCH, "other"):
        a_bench(folder / "benches", name)
    a_store(folder / "store")
    with ExitStack() as stack:
        with a_run(runs) as over:
            over.emit(RunFinished(exit_status="succeeded", message=text("output")))
        live = stack.enter_context(a_run(runs))
        made = stack.enter_context(world(folder))
        made.names = {"OVER": over.id, "LIVE": live.id, "BENCH": BENCH}
        made.page.enter()
        yield made


def show(here: World, view: str) -> None:
    """Show a view, and wait until it has what it shows."""
    parts = [here.names.get(part, part) for part in view.split("/")]
    here.page.go("/".join([parts[0], *map(here.page.quoted, parts[1:])]))
    here.page.until("return [...arguments[0]].every((t) => %s.includes(t))" % ALL,
                    [text(field) for field in sorted(SHOWN[view])])


ALL = """(document.body.textContent
    + [...document.querySelectorAll("textarea, input")].map((e) => e.value).join())"""


def test_hostile_texts_are_shown_and_do_nothing(here: World) -> None:
    page, count = here.page, 0
    for view, fields in SHOWN.items():
        show(here, view)
        page.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        page.inert()
        count += len(fields)
    assert page.complaints() == []
    print(f"{count} hostile texts shown in {len(SHOWN)} views, 0 at work")
