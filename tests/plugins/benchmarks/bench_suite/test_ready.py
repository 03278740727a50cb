"""Which tasks can be run now is told by domain and by reason, and only those are run."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hisa.config import Settings
from hisa.plugins.benchmarks.bench.ready_tasks import machine_lacks
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.coverage import load_folder
from hisa.plugins.benchmarks.tasks.data_files import is_data_file
from hisa.plugins.benchmarks.tasks.needs import needed_apps
from hisa.plugins.benchmarks.tasks.outside_places import opened_places
from hisa.plugins.benchmarks.tasks.readiness import Lacking, lacks, look_at
from hisa.protocols import CommandResult
from hisa.tasks.taskfile import load_task
from tests.cli.command import Command
from tests.plugins.benchmarks.tasks.machine import Machine, offline
from tests.stock.stock_guest import StockGuest

RULE = {"type": "rule", "rules": {"expected": "x"}}
SAID = {"type": "vm_command_line", "command": ["echo", "x"]}
URL = "https://files.example/wanted.xlsx"


def step(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": parameters}


def write(folder: Path, domain: str, name: str, *steps: Any, **evaluator: Any) -> Path:
    path = folder / "examples" / domain / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    judged = {"func": "exact_match", "result": SAID, "expected": RULE, **evaluator}
    tree = {"id": name, "instruction": "Do it.", "config": list(steps), "evaluator": judged}
    path.write_text(json.dumps(tree))
    return path


def suite(folder: Path) -> None:
    """One task a reason, and one that is ready."""
    write(folder, "os", "good", step("execute", command=["echo", "x"]))
    write(folder, "os", "broken").write_text("{")
    write(folder, "os", "unknown", step("dance"))
    write(folder, "os", "program", step("launch", command=["no-such-program", "-x"]))
    write(folder, "chrome", "account", step("googledrive", settings_file="s.yml"))
    download = step("download", files=[{"url": URL, "path": "/tmp/x"}])
    write(folder, "chrome", "far", download)
    beside = {"type": "local_file", "path": "gone.txt", "dest": "gone.txt"}
    write(folder, "chrome", "file", func="compare_text_file", expected=beside)
    (folder / "examples" / "os" / "expected_result.json").write_text('{"a": 1}')
    (folder / "examples" / "settings.json").write_text('{"config": "x"}')
    (folder / "evaluation.yaml").write_text("models: {}")


WHY = {"broken": "broken", "unknown": "piece", "program": "application", "account": "account",
       "far": "file", "file": "file"}  # fmt: skip


@pytest.mark.desktop
def test_a_real_desktop_is_looked_at_once_and_only_ready_tasks_are_run(tmp_path: Path) -> None:
    suite(tmp_path)
    hisa = Command(tmp_path)
    hisa.environ["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    report = hisa.json("bench", "coverage", str(tmp_path))
    told = {Path(t["path"]).stem: {lack["kind"] for lack in t["lacks"]} for t in report["tasks"]}
    assert told == {"good": set(), **{name: {kind} for name, kind in WHY.items()}}
    assert report["ready"] == 1
    row = dict.fromkeys(("known", "application", "files", "no account"), 2)
    assert report["domains"]["chrome"] == {"tasks": 3, **row, "known": 3, "ready": 0} | {
        "application": 3,
        "files": 1,
    }
    assert {reason["kind"]: reason["tasks"] for reason in report["reasons"]} == {
        "broken": 1,
        "piece": 1,
        "account": 1,
        "application": 1,
        "file": 2,
    }
    shown = hisa.run("bench", "coverage", str(tmp_path), "--env", "desktop")
    assert f"list: hisa bench coverage {tmp_path} --env desktop --why application" in shown
    out = tmp_path / "bench"
    words = ["bench", "run", f"osworld:{tmp_path}", "--only", "ready", "--out", str(out)]
    _, _, errors = hisa.ended(*words, "--max-steps", "1", "--no-fingerprint")
    assert "left out: 6 task files" in errors
    assert f"hisa bench coverage {tmp_path} --env desktop --why any" in errors
    plan = json.loads((out / "bench.json").read_text())
    assert [task["id"] for task in plan["tasks"]] == ["good"]
    assert any("program no-such-program" in why for why in plan["problems"].values())


@pytest.mark.process
def test_a_suite_without_a_ready_task_is_refused_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, "os", "far", step("download", files=[{"url": URL, "path": "/tmp/x"}]))
    hisa = Command(tmp_path)
    hisa.environ["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    errors = hisa.refused("bench", "run", f"osworld:{tmp_path}", "--only", "ready")
    assert "no task is ready" in errors
    assert "not downloaded yet" in errors
    shown = hisa.run("bench", "coverage", str(tmp_path), "--no-machine")
    assert "1 not ready: a file is not here" in shown
    assert f"list: hisa bench coverage {tmp_path} --no-machine --why file" in shown
    listed = hisa.run("bench", "coverage", str(tmp_path), "--no-machine", "--why", "file")
    assert listed.startswith(f"{tmp_path}/examples/os/far.json: ")
    assert hisa.run("bench", "coverage", str(tmp_path), "--no-machine", "--why", "piece") == ""


def test_a_search_engine_as_a_first_page_is_no_need(tmp_path: Path) -> None:
    """The benchmark opens one in every browser, and goes on where it does not come."""
    for url, wanted in (
        ("https://www.bing.com/", ()),
        ("https://www.google.com", ()),
        ("https://www.google.com/search?q=x", (("www.google.com", 443),)),
    ):
        browser = step("google_chrome_browser", urls=[url])
        assert opened_places(load_task(write(tmp_path, "jupyter", "first", browser))) == wanted
    opened = step("chrome_open_tabs", urls_to_open=["https://www.bing.com/"])
    task = load_task(write(tmp_path, "chrome", "engine", opened))
    assert opened_places(task) == (("www.bing.com", 443),)


@pytest.mark.parametrize(
    ("script", "apps", "wanted"),
    [
        ("docker compose up --detach", ["superset"], {"Docker"}),
        ("function f() {\n    astro dev start --no-browser\n}", ["airflow"], {"Docker", "Astro"}),
        ("gnome-terminal --maximize", ["dbt", "duckdb"], {"dbt", "a terminal"}),
        ("dagster dev -p 3000 &", ["chromium"], {"Dagster", "Chromium"}),
        ("bash start.sh", ["metabase"], {"Metabase"}),
    ],
)
def test_what_a_published_script_starts_is_needed(
    tmp_path: Path, script: str, apps: list[str], wanted: set[str]
) -> None:
    init = step("script_and_execute", src="init.sh", dest="/home/user/init.sh")
    path = write(tmp_path, "x", "y", init)
    (path.parent / "init.sh").write_text(f"#!/bin/bash\n{script}\n")
    tree = json.loads(path.read_text()) | {"related_apps": apps}
    path.write_text(json.dumps(tree))
    assert {app.title for app in needed_apps(load_task(path))} == wanted


@pytest.mark.process
async def test_of_several_guests_each_is_looked_at(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, "os", "one", step("launch", command=["vlc"])))
    with StockGuest() as one, StockGuest() as other:
        kind = f"guest={one.url}, {other.url}"
        found = await machine_lacks(
            Settings.model_validate({"environment": {"kind": kind}}), [task]
        )
        assert found.machine == f"{one.url}, {other.url}"


async def test_each_thing_is_looked_for_once_for_all_tasks(tmp_path: Path) -> None:
    pages = step("chrome_open_tabs", urls_to_open=["https://a.example/x", "http://localhost:1/"])
    chrome = step("launch", command=["google-chrome", "--remote-debugging-port=1337"])
    socat = step("launch", command=["socat", "tcp-listen:9222,fork", "tcp:localhost:1337"])
    names = ("one", "two", "three")
    tasks = [load_task(write(tmp_path, "chrome", name, chrome, socat, pages)) for name in names]
    machine = Machine(
        {"concurrent": CommandResult(0, "[true]"), "command -v": CommandResult(0, "0\n")}
    )
    found = await look_at(machine, tasks)
    assert len(machine.lines) == 3  # applications, programs, addresses
    assert found.apps == {"Chromium"}
    assert found.programs == {"socat"}
    assert found.places == frozenset()
    told = lacks(tasks[0], FileCache(tmp_path / "cache", offline), found)
    assert [lack.kind for lack in told] == ["application", "application"]


@pytest.mark.parametrize(
    "answer",
    [CommandResult(1, "", "no python3"), CommandResult(0, "[true"), CommandResult(0, "[]")],
)
async def test_an_address_that_is_not_known_to_answer_does_not(
    tmp_path: Path, answer: CommandResult
) -> None:
    pages = step("chrome_open_tabs", urls_to_open=["https://a.example:444/x"])
    task = load_task(write(tmp_path, "chrome", "one", pages))
    found = await look_at(Machine({"concurrent": answer}), [task])
    assert found.places == {("a.example", 444)}
    told = lacks(task, FileCache(tmp_path / "cache", offline), found)
    assert [(lack.kind, lack.what) for lack in told] == [("address", "a.example:444")]


def workbook(*, conditional: bool) -> bytes:
    import io

    from openpyxl import Workbook
    from openpyxl.formatting.rule import CellIsRule

    book = Workbook()
    if conditional:
        book.active.conditional_formatting.add("A1:A9", CellIsRule("equal", ["1"]))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "rule", "why"),
    [
        (workbook(conditional=False), "style", ""),
        (workbook(conditional=True), "sheet_data", ""),
        (workbook(conditional=True), "style", "conditional formatting"),
        (b"<html>Log in</html>", "sheet_data", "is not a .xlsx file"),
        (b"", "sheet_data", "is not a .xlsx file"),
    ],
)
def test_what_an_expected_file_needs_is_told_before(
    tmp_path: Path, content: bytes, rule: str, why: str
) -> None:
    options = {"rules": [{"type": rule, "sheet_idx0": 0, "sheet_idx1": "EI0", "props": []}]}
    expected = {"type": "cloud_file", "path": URL, "dest": "wanted.xlsx"}
    result = {"type": "vm_file", "path": "/home/user/x.xlsx", "dest": "x.xlsx"}
    made: dict[str, Any] = {"result": result, "expected": expected, "options": options}
    path = write(tmp_path / "Spider2-V", "excel/one", "one", func="compare_table", **made)
    task = load_task(path)
    cache = FileCache(tmp_path / "cache", offline)
    here = Lacking("here")
    assert [lack.kind for lack in lacks(task, cache, here)] == ["file"]
    cache.put(URL, content)
    told = lacks(task, cache, here)
    assert [lack.kind for lack in told] == (["expected"] if why else [])
    assert not why or why in told[0].what


def test_a_hostile_expected_workbook_is_not_unpacked_whole(tmp_path: Path) -> None:
    from hisa.plugins.benchmarks.tasks.expected_files import _conditional

    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("xl/worksheets/sheet1.xml", b" " * 60_000_000 + b"<conditionalFormatting")
    assert not _conditional(path)


def test_data_beside_task_files_is_no_task(tmp_path: Path) -> None:
    suite(tmp_path)
    own = tmp_path / "examples" / "excel" / "one" / "one.json"
    write(tmp_path, "excel/one", "one")
    (own.parent / "wanted.json").write_text('{"instruction": "data", "evaluator": {}}')
    (own.parent / "cut.json").write_text('{"a"')
    (tmp_path / "own.yaml").write_text("instruction: x")
    (tmp_path / "list.yaml").write_text("[a, b]")
    files = load_folder(tmp_path)
    assert {file.path.stem for file in files} == {"good", *WHY, "one", "own"}
    assert {file.path.stem: file.domain for file in files if file.path.stem in ("one", "good")} == {
        "one": "excel",
        "good": "os",
    }
    assert not is_data_file(tmp_path / "examples" / "os" / "broken.json")
