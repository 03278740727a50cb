"""``hisa record`` ends as the task's check says, not as the person who gave the machine back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.plugins.benchmarks.bench_suite.forms import write_task
from tests.plugins.live.watching import Client, until
from tests.stock.stock_guest import StockGuest


@pytest.mark.process
async def test_a_recording_whose_check_is_0_prints_the_score_and_ends_with_1(
    tmp_path: Path,
) -> None:
    command, task = Command(tmp_path), write_task(tmp_path / "tasks", "Ada")
    command.environ["HISA_RUN__CONFIRM"] = "never"
    runs = tmp_path / "runs"
    with StockGuest() as guest:
        process = command.start("record", str(task), "--env", f"guest={guest.url}")
        try:
            await until(lambda: any(runs.glob("*/run.json")) or process.poll() is not None)
            client = await Client.at(next(runs.glob("*/run.json")).parent.name)
            await client.step(1)
            lease = (await client.ask("take", viewer="Ann"))["lease"]
            await client.ask("give", lease=lease)
            await until(lambda: process.poll() is not None)
            await client.close()
        finally:
            process.kill()
        output, errors = process.communicate()
    assert process.returncode == 1, errors
    assert re.search(r"score 0\b", output), output
    assert "next: hisa compile" not in errors
