"""A run's log as a stream: numbered, taken up again, and never ended by a half line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hisa.config import Settings
from hisa.errors import UsageError
from hisa.plugins.live.server.run_feed import EventTail, run_stream
from hisa.plugins.live.server.run_folders import RunFolders
from hisa.plugins.live.server.server_context import ServerContext
from tests.plugins.live.serving import finished_run, serving


def test_half_lines_wait_and_damaged_ones_are_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    tail = EventTail(log)
    assert tail.read_on() == []
    log.write_bytes(b'{"a": 1}\n{"b": ')
    assert tail.read_on() == [(1, '{"a": 1}')]
    assert tail.read_on() == []
    with log.open("ab") as file:
        file.write(b'2}\nno json\n[1]\n"\xff"\n' + b"[" * 100_000 + b'\n{"c": "\xc3\xa9"}\n')
    assert tail.read_on() == [(2, '{"b": 2}'), (7, '{"c": "é"}')]
    assert EventTail(log, after=2).read_on() == [(7, '{"c": "é"}')]
    log.write_bytes(b'{"d": 1}\n')
    assert tail.read_on() == [(1, '{"d": 1}')]


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes(b"x" * (5 << 20) + b'\n{"a": 1}\n')
    tail = EventTail(log)
    lines = [line for _ in range(9) for line in tail.read_on()]
    assert [text for _, text in lines] == ['{"a": 1}']


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b'{"a": 1}\n')
    (tmp_path / "events.jsonl").symlink_to(tmp_path / "other")
    assert EventTail(tmp_path / "events.jsonl").read_on() == []


async def test_a_run_that_is_deleted_ends_its_stream(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "events.jsonl").write_bytes(b'{"a": 1}\n')

    async def status() -> dict[str, Any]:
        if not (tmp_path / "run").exists():
            raise UsageError("gone")
        return {"state": "running"}

    names = []
    async for event in run_stream(tmp_path / "run", 0, status):
        names.append(event["event"])
        if event["event"] == "status":
            shutil.rmtree(tmp_path / "run")
    assert names == ["event", "status", "gone"]


def test_bench_runs_are_listed_with_their_bench(tmp_path: Path) -> None:
    alone = finished_run(tmp_path / "runs")
    of_bench = finished_run(tmp_path / "benches" / "first" / "runs")
    (tmp_path / "benches" / "first" / "bench.json").write_text("{}")
    context = ServerContext(Settings(), (tmp_path / "runs",), (tmp_path / "benches",))
    folders = RunFolders(context)
    records = {record["id"]: record for record in folders.newest(10)}
    assert {name: record["bench"] for name, record in records.items()} == {
        alone: "",
        of_bench: "first",
    }
    assert folders.find(of_bench)[1] == "first"
    newest, oldest = folders.newest(10)
    assert folders.newest(1) == [newest]
    assert folders.newest(5, before=newest["id"]) == [oldest]
    damaged = tmp_path / "runs" / "20990101-000000-0000"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    assert len(folders.newest(10)) == 2


@pytest.mark.process
def test_a_viewer_reads_on_by_the_number_of_its_last_event(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "runs")
    logged = (tmp_path / "runs" / run / "events.jsonl").read_bytes().splitlines()
    with serving(tmp_path) as served:
        first = events(served.stream(f"/runs/{run}/events"), len(logged))
        assert [data for _, _, data in first] == [json.loads(line) for line in logged]
        assert [number for _, number, _ in first] == [str(n + 1) for n in range(len(logged))]
        for last in ("5", str(len(logged) - 1)):
            rest = events(served.stream(f"/runs/{run}/events", last), 1)
            assert rest == first[int(last) : int(last) + 1]
        for last in ("x", "-1", "9" * 40):
            assert events(served.stream(f"/runs/{run}/events", last), 1) == first[:1]
        after_all = served.stream(f"/runs/{run}/events", str(len(logged)))
        name, _, status = next(after_all)
        assert (name, status["state"]) == ("status", "succeeded")


def events(stream: Any, count: int) -> list[tuple[str, str, Any]]:
    """So many events of a stream, which is closed then."""
    items = [next(stream) for _ in range(count)]
    stream.close()
    return items
