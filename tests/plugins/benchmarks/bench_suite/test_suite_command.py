"""What a suite needs is said and fetched before it runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.benchmarks.bench.suites import open_suite
from tests.cli.command import Command

pytestmark = pytest.mark.process


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing on standard error."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "data.txt").write_text("from the internet")
    handler = partial(_Quiet, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def task(folder: Path, name: str, url: str, metric: str = "exact_match") -> None:
    path = folder / "suite" / "calc" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    download = {"type": "download", "parameters": {"files": [{"url": url, "path": "/tmp/x"}]}}
    evaluator = {
        "func": metric,
        "result": {"type": "vm_command_line", "command": ["cat", "/tmp/x"]},
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    }
    record = {"id": name, "instruction": "Do it.", "config": [download], "evaluator": evaluator}
    path.write_text(json.dumps(record))


def test_files_are_fetched_once_and_a_missing_one_is_named(tmp_path: Path, site: str) -> None:
    task(tmp_path, "a", f"{site}/data.txt")
    task(tmp_path, "b", f"{site}/data.txt")
    hisa = Command(tmp_path)
    words = ["bench", "prefetch", f"osworld:{tmp_path}/suite", "--cache", str(tmp_path / "cache")]
    assert "--set 'tasks.allow_private_downloads=" in hisa.run_refused(*words, code=3)
    words = ["--set", f'tasks.allow_private_downloads=["{site}/"]', *words]
    assert "2 tasks, 1 files, 1 in the cache" in hisa.run(*words)
    (tmp_path / "site" / "data.txt").unlink()
    assert "1 in the cache" in hisa.run(*words)
    task(tmp_path, "c", f"{site}/gone.txt")
    errors = hisa.run_refused(*words, code=3)
    assert f"{site}/gone.txt" in errors


def test_a_task_that_lacks_something_is_named_before_the_run(tmp_path: Path, site: str) -> None:
    task(tmp_path, "good", f"{site}/data.txt")
    task(tmp_path, "bad", f"{site}/data.txt", metric="compare_dreams")
    suite = open_suite(f"osworld:{tmp_path}/suite")
    assert [planned.id for planned in suite.tasks] == ["good"]
    (reason,) = suite.problems.values()
    assert "compare_dreams" in reason


def test_coverage_counts_the_published_tasks(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    report = hisa.json("bench", "coverage", "--public", "osworld")
    assert report["tasks"] == 369
    rows = {row["name"]: row for row in report["rows"]}
    assert rows["exact_match"]["source"] == "ours"
    assert rows["compare_pdfs"]["source"] == "theirs"
    assert rows["googledrive_file"]["source"] == "missing"
    assert sum(sum(counts.values()) for counts in report["domains"].values()) == 369
    output = hisa.run("bench", "coverage", "--public", "osworld")
    assert "369 published tasks of osworld" in output
    assert "theirs metric  compare_pdfs" in output
