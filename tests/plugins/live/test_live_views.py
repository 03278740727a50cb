"""The JSON behind the page's views, from real runs, benches and stores."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.testclient import TestClient

from hisa.cli.pattern_files import export_lines
from hisa.config import load
from hisa.environments.kinds import load_kind
from hisa.errors import HisaError
from hisa.events import Confirmed, Decided, ModelCalled, Observed, PersonActed, PersonAsked
from hisa.machine import plugins
from hisa.machine.storage import Lock
from hisa.patterns.embedders.minilm import MiniLM
from hisa.patterns.stores.edge import EdgeStore
from hisa.plugins.benchmarks.bench.bench_report import build_report
from hisa.plugins.desktop.runtime.state import Handle, process_start
from hisa.plugins.live.server import (
    tiles,
    views_benches,
    views_patterns,
    views_tiles,
    views_tools,
)
from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.tiles import TileBoard
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.screen.observation import Screenshot
from tests.patterns.conformance import pattern

BENCHES = Path(__file__).parents[2] / "data" / "runs_of_version_1"


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for desktops of the test's own, with a short name."""
    with tempfile.TemporaryDirectory(prefix="hl") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@pytest.fixture
def context(tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> ServerContext:
    monkeypatch.setattr(tiles, "_FRESH", 0.0)
    monkeypatch.setattr(tiles, "_SCAN", 0.0)
    settings = load(overrides={"patterns": {"path": tmp_path / "store"}}, environ={})
    for name in ("bench", "other"):
        shutil.copytree(BENCHES / "bench", tmp_path / "two" / name)
    return ServerContext(settings, (tmp_path / "runs",), (tmp_path / "two",))


@pytest.fixture
def client(context: ServerContext) -> Iterator[TestClient]:
    async def refused(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 400)

    views = (views_tiles, views_benches, views_patterns, views_tools)
    refusing = (HisaError, ValidationError)  # as the application has it
    routes = [route for view in views for route in view.routes(context)]
    with TestClient(
        Starlette(routes=routes, exception_handlers=dict.fromkeys(refusing, refused))
    ) as client:
        yield client


@pytest.fixture
def log(tmp_path: Path) -> Iterator[RunLog]:
    with RunLog.create(tmp_path / "runs", Task("t-1", "Do <b>it</b>")) as log:
        yield log


def look(log: RunLog, colour: int, size: tuple[int, int] = (1280, 720)) -> str:
    """Logs a look at a screen of one colour; returns its hash."""
    sha = log._save(Screenshot(Image.new("RGB", size, (colour, 90, 9))))
    see(log, sha)
    return sha


def see(log: RunLog, sha: str) -> None:
    log.emit(Observed(image=sha, width=1280, height=720, screen_width=1280, screen_height=720))


# ---------------------------------------------------------------- tiles


def test_a_run_at_work_has_a_tile_and_a_picture(client: TestClient, log: RunLog) -> None:
    sha = look(log, 9)
    log.emit(ModelCalled(role="planner", model="m", tokens_in=1, tokens_out=1, usd=0.5))
    log.emit(PersonActed(did="took_over"))
    (tile,) = client.get("/api/desktops").json()["tiles"]
    assert tile == {
        "id": log.id,
        "kind": "run",
        "title": "Do <b>it</b>",
        "task": "t-1",
        "step": 0,
        "cost": 0.5,
        "state": "held",
        "started": log.manifest.started_at,
        "hash": sha,
    }
    answer = client.get(f"/api/tiles/{log.id}")
    (log.folder / "shown.webp").write_bytes(answer.content)
    with Image.open(log.folder / "shown.webp") as picture:
        assert (picture.size, picture.format) == ((320, 180), "WEBP")
    same = client.get(f"/api/tiles/{log.id}?since={sha}")
    assert (same.status_code, same.content) == (304, b"")
    log.close()
    assert client.get("/api/desktops").json()["tiles"] == []
    assert client.get(f"/api/tiles/{log.id}").status_code == 404


@pytest.mark.parametrize("kind", ["path", "link", "no picture", "too large", "gone", "bomb"])
def test_what_is_no_picture_of_the_run_is_not_shown(
    client: TestClient, log: RunLog, kind: str, tmp_path: Path
) -> None:
    sha = look(log, 7)
    place = log.folder / "images" / f"{sha}.png"
    outside = place.rename(tmp_path / f"{sha}.png")
    if kind == "path":
        sha = f"../../../{sha}"
    elif kind == "link":
        place.symlink_to(outside)
    elif kind == "no picture":
        place.write_bytes(outside.read_bytes()[:100])
    elif kind in ("too large", "bomb"):
        side = 7000 if kind == "too large" else 14000
        Image.new("1", (side, side)).save(place)
    see(log, sha)
    assert client.get("/api/desktops").json()["tiles"][0]["hash"] == sha
    assert client.get(f"/api/tiles/{log.id}").status_code == 404


def test_a_picture_that_the_folder_lacks_is_asked_of_the_run(
    context: ServerContext, log: RunLog
) -> None:
    asked = []

    async def ask(run: str, request: Any) -> tuple[dict[str, Any], bytes]:
        asked.append((run, request["do"], request["width"]))
        return {"ok": True, "type": "image/webp"}, b"picture"

    async def picture() -> bytes | None:
        board = TileBoard(ServerContext(context.settings, context.roots, (), ask))
        await board.tiles()
        return await board.picture(log.id, "")

    assert asyncio.run(picture()) == b"picture"
    assert asked == [(log.id, "frame", 320)]


def test_a_stream_sends_what_changed_and_no_more(
    context: ServerContext, log: RunLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views_tiles, "_PAUSE", 0.0)
    other = RunLog.create(context.roots[0], Task("t-2", "Another"))
    second: list[str] = []

    async def watch() -> None:
        stream = views_tiles._changes(TileBoard(context), views_tiles._Nodes(context))
        for turn in range(3):
            if turn == 1:
                second.append(look(other, 3))
            elif turn == 2:
                other.close()
            messages.append(json.loads((await anext(stream))["data"]))

    messages: list[dict[str, Any]] = []
    asyncio.run(watch())
    first, changed, gone = messages
    assert first["whole"]
    assert {tile["id"] for tile in first["tiles"]} == {log.id, other.id}
    assert first["nodes"][0]["slots"] == os.cpu_count()
    assert [(tile["id"], tile["hash"]) for tile in changed["tiles"]] == [(other.id, second[0])]
    assert (changed["whole"], changed["gone"]) == (False, [])
    assert (gone["tiles"], gone["gone"]) == ([], [other.id])


def test_a_log_cut_off_or_damaged_is_read_on(client: TestClient, log: RunLog) -> None:
    with (log.folder / "events.jsonl").open("ab") as file:
        file.write(b'{"type":"observed","image":7}\n[]\n\xff\xfe\n{"v":1,"type":"observed","im')
    assert client.get("/api/desktops").json()["tiles"][0]["hash"] == ""


def test_a_desktop_without_a_run_has_a_tile_and_one_of_a_run_has_none(
    client: TestClient, log: RunLog, runtime: Path
) -> None:
    for name, run in (("aa", ""), ("bb", log.id)):
        folder = runtime / f"hisa-{os.getuid()}" / "desktops" / name
        folder.mkdir(parents=True, mode=0o700)
        folder.parent.parent.chmod(0o700)
        pid, started = os.getpid(), process_start(os.getpid()) or 0
        handle = Handle(name, pid, started, str(folder / "s"), "", time.time(), 800, 600)
        (folder / "handle.json").write_text(json.dumps(handle.to_json()))
        owner = {"pid": pid, "started": started, "run": run}
        (folder / "owner.json").write_text(json.dumps(owner))
    found = {tile["id"]: tile["state"] for tile in client.get("/api/desktops").json()["tiles"]}
    assert found == {log.id: "running", "aa": "up"}


def test_every_kind_of_ours_says_what_is_up() -> None:
    ours = [load_kind(p) for p in plugins.points("environments") if plugins.is_ours(p)]
    assert len(ours) >= 4
    assert all(machine.id for kind in ours for machine in kind.running())


# ---------------------------------------------------------------- benches


def test_benches_are_what_hisa_bench_report_says(client: TestClient, tmp_path: Path) -> None:
    rows = {row["id"]: row for row in client.get("/api/benches").json()["benches"]}
    report = build_report(BENCHES / "bench")
    row, main = rows["bench"], report.variants[0]
    assert {key: row[key] for key in report.sums} == report.sums
    assert (row["rate"], row["low"], row["high"], row["rated"]) == (
        main.rate,
        main.low,
        main.high,
        main.rated,
    )
    shown = client.get("/api/benches/bench").json()
    assert shown["variants"][0]["success"]["value"] == main.rate
    assert shown["progress"] == row
    pair = client.get("/api/benches/compare?a=bench&b=other").json()
    both = build_report(tmp_path / "two" / "bench", tmp_path / "two" / "other")
    assert [set(task["success"]) for task in pair["tasks"]] == [
        set(task.success) for task in both.tasks
    ]
    assert len(pair["variants"]) == len(report.variants) + 1


@pytest.mark.parametrize("name", ["nope", "..", "%2e%2e%2fbench"])
def test_no_bench_outside_is_read(client: TestClient, name: str) -> None:
    assert client.get(f"/api/benches/{name}").status_code in (400, 404)


def test_without_the_plugin_benches_say_so_and_tiles_go_on(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    views_benches._summed.cache_clear()
    for name in [name for name in sys.modules if name.startswith("hisa.plugins.benchmarks")]:
        monkeypatch.setitem(sys.modules, name, None)
    answer = client.get("/api/benches")
    assert answer.status_code == 400
    assert "not there" in answer.json()["error"]
    assert client.get("/api/desktops").status_code == 200


# ---------------------------------------------------------------- patterns


@pytest.fixture
def store(context: ServerContext) -> EdgeStore:
    store = EdgeStore(context.settings.patterns.path, MiniLM())
    rows = [
        pattern("abc1", domain="text_editor", lesson="Press Ctrl+S.", source_run="run-7"),
        pattern("old1", status="superseded", superseded_by="abc1", source_run="run-3"),
    ]
    store.rebuild(((row, [[1.0] + [0.0] * 383]) for row in rows), MiniLM())
    return store


def test_patterns_are_listed_and_shown_with_their_history(
    client: TestClient, store: EdgeStore
) -> None:
    listed = client.get("/api/patterns").json()["patterns"]
    assert [row["id"] for row in listed] == ["abc1"]
    assert len(client.get("/api/patterns?all=1").json()["patterns"]) == 2
    shown = client.get("/api/patterns/abc").json()
    assert shown["pattern"]["lesson"] == "Press Ctrl+S."
    assert {link["id"] for link in shown["history"]} == {"abc1", "old1"}
    assert set(shown["source_runs"]) == {"run-7", "run-3"}
    lines = list(export_lines(store, vectors=False, domain=None))
    assert client.get("/api/patterns/export").text.splitlines() == lines


def test_an_edit_supersedes_and_a_removal_stays_in_the_history(
    client: TestClient, store: EdgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MiniLM, "embed", lambda _, texts: [[1.0] + [0.0] * 383 for _ in texts])
    made = client.patch("/api/patterns/abc1", json={"lesson": "Press Ctrl+Shift+S."}).json()
    assert made["superseded"] == "abc1"
    new = store.get(made["pattern"]["id"])
    assert new is not None
    assert (new.lesson, new.domain, new.source_run) == (
        "Press Ctrl+Shift+S.",
        "text_editor",
        "run-7",
    )
    assert asdict(new)["embedder"] == "minilm"
    old = store.get("abc1")
    assert old is not None
    assert (old.status, old.superseded_by) == ("superseded", new.id)
    found = client.get("/api/patterns?q=save&limit=5").json()["patterns"]
    assert [(row["id"], row["score"]) for row in found] == [(new.id, pytest.approx(1.0))]
    assert client.delete(f"/api/patterns/{new.id}").json() == {"id": new.id, "purged": False}
    removed = store.get(new.id)
    assert removed is not None
    assert removed.status == "removed"
    client.delete("/api/patterns/old1?purge=1")
    assert store.get("old1") is None


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"{", "Invalid JSON"),
        (b"[]", "input_value=[]"),
        (b'{"lesson": 3}', "valid string"),
        (b'{"id": "x"}', "lesson"),
        (b'{"uses": "900"}', "lesson"),
        (b'{"lesson": "MUST obey"}', "never binds"),
        (b'{"lesson": ""}', "empty"),
        (b'{"domain": "../x"}', "lower-case"),
        (b'{"kind": "rule"}', "choose one"),
        (b'{"lesson": "Press Ctrl+S."}', "nothing is changed"),
    ],
)
def test_a_wrong_edit_changes_nothing(
    client: TestClient, store: EdgeStore, body: bytes, word: str
) -> None:
    before = store.list(status=None)
    answer = client.patch("/api/patterns/abc1", content=body)
    assert answer.status_code == 400
    assert word in answer.json()["error"]
    assert store.list(status=None) == before


def test_a_store_that_a_run_keeps_open_is_said_to_be(
    client: TestClient, store: EdgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views_patterns, "_PATIENCE", 0.2)
    with store.session():
        answer = client.get("/api/patterns")
    assert answer.status_code == 400
    assert "held by other processes" in answer.json()["error"]
    assert client.get("/api/patterns").status_code == 200


# ---------------------------------------------------------------- tools


def test_tools_and_what_was_asked_and_decided(client: TestClient, log: RunLog) -> None:
    log.emit(Confirmed(what="rm x", allowed=True, answer="once"))
    log.emit(Decided(tool="bash", what="rm x", verdict="ask", allowed=True, asked=True))
    log.emit(PersonAsked(kind="question", text="Which?", answer="the first", by="person"))
    found = client.get("/api/tools").json()
    assert "bash_execution" in {tool["name"] for tool in found["tools"]}
    (run,) = found["runs"]
    assert (run["run"], run["running"], run["counts"]["asked"]) == (log.id, True, 1)
    assert [decided["what"] for decided in run["decisions"]] == ["rm x"]
    assert [person["answer"] for person in run["person"]] == ["the first"]
    log.emit(PersonActed(did="paused"))
    again = client.get("/api/tools?limit=1").json()["runs"][0]["person"]
    assert [person["type"] for person in again] == ["person_asked", "person_acted"]
    assert client.get("/api/tools?limit=x").status_code == 400


def test_a_bench_at_work_adds_its_runs_and_its_queue(
    context: ServerContext, tmp_path: Path
) -> None:
    bench = Path(shutil.copytree(BENCHES / "bench", tmp_path / "benches" / "mine"))
    lock = Lock.take(bench / "lock")
    assert lock is not None
    log = RunLog.create(bench / "runs", Task("t-9", "Of a bench"))
    own = ServerContext(context.settings, context.roots, (tmp_path / "benches",))

    async def names() -> set[str]:
        return set(await TileBoard(own).tiles())

    assert asyncio.run(names()) == {log.id}
    assert views_benches.waiting_attempts(own) == 1
    lock.release()
    log.close()
    assert asyncio.run(names()) == set()
    assert views_benches.waiting_attempts(own) == 0
