"""The page as text; `test_report_browser` opens it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.runs.report import render_report
from hisa.runs.run_reader import load_run
from tests.runs.sample import TASK, build


def words(page: str) -> str:
    """What a reader of the page sees."""
    body = re.sub(r"<(style|script).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    return render_report(load_run(build(tmp_path_factory.mktemp("runs"))))


def test_the_page_loads_nothing(source: str) -> None:
    addresses = re.findall(r'(?:src|href)="([^"]*)"', source)
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert not re.search(r"@import|url\(|<[^>]* on\w+=", source)


def test_report_page_shows_the_events_of_the_run(source: str) -> None:
    shown = words(source)
    for text in (
        TASK.instruction,
        "score 1.00",
        "Select the cell first, then type the formula",
        "from run 20261119-101500-aa01",
        "cell B5 → (277, 277) accessibility 0.93",
        "pyautogui.click(277, 277)",
        "1 rejected reply, 1 failed call",
        "rate_limit 429 planner: slow down retried after 0.6 s",
        "No place found: the green tick of the formula bar",
        "Loop: the same action 3 times",
        "Context refined steps 1–5",
        "StoreError in conclusion",
        "planner 2,040 in, 145 out, 1 image, $0.0040",
    ):
        assert text in shown


def test_report_stores_every_picture_once(source: str) -> None:
    stored = re.findall(r'<image id="(i\d+)"[^>]*href="(data:[^"]+)"', source)
    assert len(stored) == len({data for _, data in stored}) == 7
    used = set(re.findall(r'<use href="#(i\d+)"', source))
    assert used == {name for name, _ in stored}


def test_an_unfinished_run_has_a_page_too(tmp_path: Path) -> None:
    page = words(render_report(load_run(build(tmp_path, finish=False))))
    assert "unfinished" in page
    assert f"hisa --set run.folder={tmp_path} runs resume" in page
    assert "in flight" in page


def test_a_run_without_steps_has_a_page_too(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, Task("t", "Nothing yet.")) as log:
        pass
    page = words(render_report(load_run(log.folder)))
    assert "No step was begun." in page
    assert "No model was called." in page


def test_missing_and_damaged_pictures_are_reported_missing(tmp_path: Path) -> None:
    folder = build(tmp_path)
    pictures = sorted((folder / "images").iterdir())
    pictures[0].unlink()
    pictures[1].write_bytes(b"\x89PNG\r\n\x1a\n, but no more")
    source = render_report(load_run(folder))
    assert "the picture is missing" in source
    assert len(re.findall("<image ", source)) == len(pictures) - 2
