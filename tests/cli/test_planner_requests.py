"""What a planner is sent in a run: seen by the server that is asked, through the command line."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest
from PIL import Image, ImageChops

from hisa.protocols import CommandResult
from hisa.testing.model_server import FakeServer, Fault, ReceivedRequest
from hisa.testing.scripted import tool_call
from tests.cli.command import endless
from tests.plugins.benchmarks.bench_suite.test_guests import hisa
from tests.stock.stock_desktop import StockDesktop
from tests.stock.stock_guest import StockGuest

pytestmark = pytest.mark.process

END = tool_call("termination", "done")
NOWHERE = tool_call("gui_action", "pyautogui.click(900, 600)", thought="A click on the desktop.")
FOUR_PLACES = [
    tool_call("gui_action", f"pyautogui.click({x}, 600)", thought="A click on the desktop.")
    for x in (860, 880, 900, 920)
]
"""What changes nothing at one place is not done a third time."""
COMMAND = tool_call("bash_execution", "report", thought="I read the report.")
NAME = tool_call("gui_action", "pyautogui.click(300, 136); pyautogui.write('Ada')")
REPORT = "".join(f"row {number} of the report\n" for number in range(70))
ABSTRACTION, REFINEMENT = "# Step abstraction", "# Context refinement"
Answer = Callable[[ReceivedRequest], str | Fault]


def collect_requests(
    folder: Path,
    planned: Sequence[str],
    *more: str,
    answer: Answer = endless,
    guest: StockGuest | None = None,
) -> list[ReceivedRequest]:
    """Every request of a run whose planner answers this, step by step."""

    def reply(received: ReceivedRequest) -> str | Fault:
        if received.role == "planner":
            return planned[min(received.step, len(planned)) - 1]
        return answer(received)

    def run(words: Sequence[str]) -> CommandResult | None:
        return CommandResult(0, REPORT) if any("report" in word for word in words) else None

    with guest or StockGuest(run=run) as machine, FakeServer(then=reply) as server:
        command = hisa(folder)
        command.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
        where = ("--env", f"guest={machine.url}", "--model", "m", "--no-report")
        settings = ("--set", "environment.settle=0.2", "--set", "patterns.enabled=false")
        command.run("run", "Do it.", *where, *settings, *more)
        return list(server.requests)


def plans(requests: Sequence[ReceivedRequest]) -> list[ReceivedRequest]:
    return [request for request in requests if request.role == "planner"]


def jobs(requests: Sequence[ReceivedRequest], job: str) -> list[ReceivedRequest]:
    return [request for request in requests if request.job == job]


def test_click_without_visible_change_counts_neither_as_success_nor_win(
    tmp_path: Path,
) -> None:
    command = hisa(tmp_path)
    command.run("patterns", "add", "Save with Ctrl+S.", "--condition", "Do it.")
    first, second = plans(
        collect_requests(tmp_path, [NOWHERE, END], "--set", "patterns.enabled=true")
    )
    text = second.text_by("user")
    assert "No visible change." in text
    assert "Succeeded" not in text
    for word in ("Succeeded", "No visible change", "Unexpected", "Failed"):
        assert word in first.text_by("system"), "the prompt explains what the lines begin with"
    (row,) = command.json("patterns", "ls")
    assert (row["uses"], row["wins"]) == (0, 0), "nobody scored the run, and it did not use it"


MAIN = "0x02|20 60 1200 660|writer.Writer|letter.odt"
OTHER = "0x01|0 0 400 300|files.Files|Home"
TROUBLE = "0x03|400 300 300 90|writer.Writer|Error: the file could not be written"


class Windows(StockDesktop):
    """A machine with these windows until the second act, then with those."""

    def __init__(self, before: list[str], after: list[str]) -> None:
        super().__init__()
        self._before, self._after = before, after

    def windows(self) -> list[str]:
        acts = [action for action in self.form.acted if action.kind != "move"]
        return self._after if len(acts) > 1 else self._before


ERROR = [OTHER, MAIN, TROUBLE], "the file could not be written"


def test_error_window_overrides_the_success_a_model_claims(tmp_path: Path) -> None:
    (after, reason), guest = ERROR, StockGuest()
    guest.desktop = Windows([OTHER, MAIN], after)
    focus = tool_call("gui_action", "pyautogui.click(300, 136)")
    write = tool_call("gui_action", "pyautogui.write('Ada')")
    *_, last = plans(collect_requests(tmp_path, [focus, write, END], guest=guest))
    (line,) = [row for row in last.text_by("user").splitlines() if row.startswith("Step 2")]
    assert "Result: Unexpected." in line
    assert reason in line


def test_a_refinement_leaves_the_newest_line_and_the_newest_output_is_read_once(
    tmp_path: Path,
) -> None:
    requests = collect_requests(tmp_path, [*FOUR_PLACES, COMMAND, NOWHERE, END])
    assert jobs(requests, REFINEMENT), "the run is long enough for one"
    text, later = (plan.text_by("user") for plan in plans(requests)[5:7])
    assert "I read the report." in text
    assert [row for row in REPORT.splitlines() if row not in text] == []
    assert "row 40 of" not in later


def open_picture(picture: str) -> Image.Image:
    data = base64.b64decode(picture.partition(",")[2])
    return Image.open(io.BytesIO(data)).convert("RGB")


def test_the_picture_is_not_older_than_the_state_models_answer(tmp_path: Path) -> None:
    """The screen goes on changing while the model takes its time over the step before."""
    now: list[Image.Image] = []

    def slow(received: ReceivedRequest) -> str | Fault:
        if received.job == ABSTRACTION and not now:
            time.sleep(1.5)
            source = "import pyautogui; pyautogui.write(' came later')"
            body = {"command": ["python", "-c", source], "shell": False}
            httpx.post(f"{guest.url}/execute", json=body).raise_for_status()
            picture = httpx.get(f"{guest.url}/screenshot").content
            now.append(Image.open(io.BytesIO(picture)).convert("RGB"))
        return endless(received)

    guest = StockGuest()
    _, second = plans(collect_requests(tmp_path, [NAME, END], answer=slow, guest=guest))
    (picture,) = second.images
    assert ImageChops.difference(open_picture(picture["url"]), now[0]).getbbox() is None


def test_line_that_is_too_long_is_requested_again_without_pictures(tmp_path: Path) -> None:
    def verbose(received: ReceivedRequest) -> str | Fault:
        words = "Succeeded. The name was typed into the field of the form. "
        return words * 60 if received.job == ABSTRACTION else endless(received)

    requests = jobs(collect_requests(tmp_path, [NAME, END], answer=verbose), ABSTRACTION)
    assert [len(request.images) for request in requests[1:]] == [0] * (len(requests) - 1)
    assert requests[0].images


def test_every_binding_rule_reaches_the_planner_the_users_first(tmp_path: Path) -> None:
    own = [f"Rule {number}: write amounts with {number} decimals." for number in range(10, 23)]
    (tmp_path / "mine.md").write_text("domains: general\n\n" + "".join(f"- {r}\n" for r in own))
    more = ("--set", "patterns.enabled=true", "--set", f"patterns.sops={tmp_path}")
    (first,) = plans(collect_requests(tmp_path, [END], *more))
    text = first.text_by("user")
    places = [text.find(rule) for rule in own]
    assert -1 not in places
    assert places == sorted(places)
    lines = text.splitlines()
    assert [rule for rule in own if f"- MUST: {rule}" not in lines] == [], "a line for each"
