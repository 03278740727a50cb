"""A person shows a task once: the acts of the log, and the program that is made of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.errors import UsageError
from hisa.plugins.replay.compiling import compile_run
from hisa.plugins.replay.demonstration import demonstrated
from hisa.runs.read import load_run
from hisa.runs.report import render_report
from hisa.testing import FakeEnvironment
from hisa.text.redact.named_secrets import forms
from tests.plugins.live.test_typed_secrets import FIELD, OK, PASSWORD, Login
from tests.plugins.live.watching import Client, until

Acts = list[list[dict[str, Any]]]


def runs_in(folder: Path) -> list[str]:
    return [file.parent.name for file in folder.glob("*/run.json")]


def bytes_below(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in folder.rglob("*") if file.is_file()]


class Starting(FakeEnvironment):
    """A machine that comes up once somebody asked for it."""

    async def reset(self) -> None:
        """Wait for the page, as a person who is quick does."""
        await asyncio.sleep(1)
        await super().reset()


async def shown(folder: Path, form: FakeEnvironment, acts: Acts) -> hisa.RunResult:
    """The run of a person who takes the machine over, acts, and gives it back."""
    tree = {
        "run": {"folder": folder, "confirm": "never"},
        "patterns": {"enabled": False},
        "models": {"planner": {"model": "person"}, "state": {"model": "offline"}},
    }
    settings = hisa.Settings.model_validate(tree)
    work = asyncio.create_task(hisa.run("Enter a name.", settings=settings, environment=form))
    await until(lambda: bool(runs_in(folder)))
    client = await Client.at(runs_in(folder)[0])
    try:
        if not isinstance(form, Starting):
            await client.step(1)
        lease = (await client.ask("take", viewer="Ann"))["lease"]
        for several in acts:
            assert (await client.ask("input", lease=lease, acts=several))["ok"]
        await client.ask("give", lease=lease)
        return await work
    finally:
        work.cancel()
        await client.close()


ENTER: Acts = [
    [{"kind": "click", **FIELD}],
    [{"kind": "type", "text": "A"}],
    [{"kind": "type", "text": "da"}, {"kind": "press", "keys": ["enter"]}],
    [{"kind": "click", **OK}],
]


async def test_what_a_person_shows_becomes_a_program(tmp_path: Path) -> None:
    result = await shown(tmp_path / "runs", FakeEnvironment(), ENTER)
    assert result.status == "succeeded"
    run = load_run(result.folder)
    assert [atom.source for atom in demonstrated(run)] == [
        "pyautogui.click(300, 136)",
        "pyautogui.write('Ada')",
        "pyautogui.press('enter')",
        "pyautogui.click(260, 236)",
    ]
    program = compile_run(run, "name", tmp_path / "program")
    assert [target.role for step in program.steps for target in step.targets] == [
        "text",
        "push button",
    ]
    assert {known.value for known in program.proposed.values()} == {"Ada"}


async def test_the_step_in_which_it_was_shown_reads_as_a_wait(tmp_path: Path) -> None:
    result = await shown(tmp_path / "runs", FakeEnvironment(), ENTER)
    run = load_run(result.folder)
    first, last = (step for step in run.steps if step.number)
    assert first.planned is not None
    assert (first.planned.tool, first.planned.thought) == ("wait", "A person shows how it is done.")
    assert (first.verdict, last.verdict) == ("no_change", "succeeded")
    page = render_report(run)
    assert "nothing was done" not in page
    assert "A person shows how it is done." in page


async def test_it_may_be_taken_over_before_it_has_started(tmp_path: Path) -> None:
    result = await shown(tmp_path / "runs", Starting(), ENTER)
    assert result.status == "succeeded"
    assert len(demonstrated(load_run(result.folder))) == 4


async def test_a_password_that_is_shown_is_in_no_byte(tmp_path: Path) -> None:
    acts: Acts = [[{"kind": "click", **FIELD}], [{"kind": "type", "text": PASSWORD}]]
    result = await shown(tmp_path / "runs", Login(), acts)
    run = load_run(result.folder)
    program = compile_run(run, "login", tmp_path / "program")
    assert "{{secret:typed_1}}" in str(program.steps[-1].action)
    written = [*bytes_below(tmp_path), program.model_dump_json().encode()]
    assert not any(form.encode() in data for data in written for form in forms(PASSWORD))


async def test_a_run_in_which_nothing_was_shown_is_refused(tmp_path: Path) -> None:
    result = await shown(tmp_path / "runs", FakeEnvironment(), [])
    with pytest.raises(UsageError, match="nothing was done"):
        compile_run(load_run(result.folder), "none", tmp_path / "program")
