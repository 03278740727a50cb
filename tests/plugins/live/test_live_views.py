"""The JSON behind the page's views, from real runs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from starlette.testclient import TestClient

from hisa.config import load
from hisa.events import ModelCalled, Observed, PersonActed
from hisa.machine.storage import Lock
from hisa.plugins.desktop.runtime.state import Handle, process_start
from hisa.plugins.live.server import tiles
from hisa.plugins.live.server.application import application
from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.tiles import TileBoard
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.screen.observation import Screenshot

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
    return ServerContext(load(environ={}), (tmp_path / "runs",), (tmp_path / "benches",))


@pytest.fixture
def client(context: ServerContext) -> Iterator[TestClient]:
    with TestClient(application(context)) as client:
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


def test_a_bench_at_work_adds_its_runs(context: ServerContext, tmp_path: Path) -> None:
    bench = Path(shutil.copytree(BENCHES / "bench", tmp_path / "mine" / "bench"))
    lock = Lock.take(bench / "lock")
    assert lock is not None
    log = RunLog.create(bench / "runs", Task("t-9", "Of a bench"))
    own = ServerContext(context.settings, context.roots, (tmp_path / "mine",))

    async def names() -> set[str]:
        return {tile["id"] for tile in await TileBoard(own).tiles()}

    assert asyncio.run(names()) == {log.id}
    lock.release()
    log.close()
    assert asyncio.run(names()) == set()
