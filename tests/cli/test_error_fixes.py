"""An error that ends a run says what helps: in the result, the log, the terminal and ``--json``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hisa
from hisa.errors import EnvironmentFailed
from hisa.events import Failed, RunFinished
from hisa.protocols import Environment
from hisa.runs.run_reader import list_runs, load_run
from hisa.screen.observation import Observation
from hisa.testing import FakeEnvironment, FakeServer, Fault
from tests.cli.command import Command
from tests.stock.stock_guest import StockGuest


async def run_to_end(
    folder: Path, url: str, environment: Environment
) -> tuple[str, str, list[str]]:
    """The result's message, the log's, and those of its failures."""
    planner = {"model": "m", "base_url": url, "max_retries": 0}
    tree = {
        "patterns": {"enabled": False},
        "run": {"folder": folder},
        "models": {"planner": planner},
    }
    result = await hisa.run(
        "Press it.", settings=hisa.Settings.model_validate(tree), environment=environment
    )
    events = load_run(result.folder).events
    (end,) = [event for event in events if isinstance(event, RunFinished)]
    failures = [event.message for event in events if isinstance(event, Failed)]
    return result.message, end.message, failures


@pytest.mark.parametrize(
    ("status", "helps"),
    [
        (400, "--set models.planner.profile="),
        (401, "export OPENAI_API_KEY=…"),
    ],
)
async def test_refused_model_call_names_a_fix(status: int, helps: str, tmp_path: Path) -> None:
    with FakeServer(then=lambda _: Fault("status", status=status, text="no")) as server:
        message, logged, _ = await run_to_end(tmp_path, server.url, FakeEnvironment())
    assert f"answered {status}: no" in message
    assert helps in message.partition("; try: ")[2]
    assert logged == message


class _Gone(FakeEnvironment):
    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        raise EnvironmentFailed("the machine is gone", fix="start it again")


async def test_broken_machine_names_a_fix(tmp_path: Path) -> None:
    message, logged, failures = await run_to_end(tmp_path, "http://127.0.0.1:9/v1", _Gone())
    assert message == logged == "the machine is gone; try: start it again"
    assert failures == [message]


@pytest.mark.process
def test_terminal_and_json_name_a_fix(tmp_path: Path) -> None:
    refused = Fault("status", status=401, text="wrong key")
    with StockGuest() as guest, FakeServer(then=lambda _: refused) as server:
        command = Command(tmp_path, url=server.url)
        words = (
            "run",
            "Press it.",
            "--env",
            f"guest={guest.url}",
            "--model",
            "m",
            "--no-report",
            "--confirm",
            "never",
            "--set",
            "environment.settle=0.2",
        )
        shown = command.run(*words, code=3)
        code, output, _ = command.run_to_end(*words, "--json")
    assert "try: export OPENAI_API_KEY=…" in " ".join(shown.split())
    assert code == 3
    assert "try: export OPENAI_API_KEY=…" in json.loads(output)["message"]
    assert len(list_runs(tmp_path / "runs")) == 2
