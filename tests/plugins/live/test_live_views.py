"""The JSON behind the page's views, from real runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from starlette.testclient import TestClient

from hisa.config import load
from hisa.events import Observed
from hisa.plugins.live.server.application import application
from hisa.plugins.live.server.server_context import ServerContext
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.screen.observation import Screenshot


@pytest.fixture
def context(tmp_path: Path) -> ServerContext:
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


def test_a_run_at_work_is_shown_with_its_newest_picture(client: TestClient, log: RunLog) -> None:
    look(log, 8)
    sha = look(log, 9)
    (record,) = client.get("/api/desktops").json()["runs"]
    assert (record["id"], record["instruction"], record["hash"]) == (log.id, "Do <b>it</b>", sha)
    answer = client.get(f"/api/runs/{log.id}/picture/{sha}")
    assert answer.content == (log.folder / "images" / f"{sha}.png").read_bytes()
    log.close()
    assert client.get("/api/desktops").json()["runs"] == []


@pytest.mark.parametrize("kind", ["path", "link"])
def test_picture_outside_the_run_folder_is_not_served(
    client: TestClient, log: RunLog, kind: str, tmp_path: Path
) -> None:
    sha = look(log, 7)
    place = log.folder / "images" / f"{sha}.png"
    outside = place.rename(tmp_path / f"{sha}.png")
    name = f"../../../{sha}" if kind == "path" else sha
    if kind == "link":
        place.symlink_to(outside)
    see(log, name)
    assert client.get("/api/desktops").json()["runs"][0]["hash"] == sha
    assert client.get(f"/api/runs/{log.id}/picture/{name}").status_code == 404


def test_a_log_cut_off_or_damaged_is_read_on(client: TestClient, log: RunLog) -> None:
    with (log.folder / "events.jsonl").open("ab") as file:
        file.write(b'{"type":"observed","image":7}\n[]\n\xff\xfe\n{"v":1,"type":"observed","im')
    assert client.get("/api/desktops").json()["runs"][0]["hash"] == ""


def test_a_bench_at_work_adds_its_runs(client: TestClient, tmp_path: Path) -> None:
    bench = tmp_path / "benches" / "first"
    bench.mkdir(parents=True)
    (bench / "bench.json").write_text("{}")
    with RunLog.create(bench / "runs", Task("t-9", "Of a bench")) as log:
        assert [run["id"] for run in client.get("/api/desktops").json()["runs"]] == [log.id]
    assert client.get("/api/desktops").json()["runs"] == []
