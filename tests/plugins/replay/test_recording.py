"""A person shows a task once: the acts of the log, and the program that is made of them."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageSequence

import hisa
from hisa.errors import UsageError
from hisa.plugins.live.run_video import write_video
from hisa.plugins.replay.demonstration import read_demonstration
from hisa.plugins.replay.program_records import write_program
from hisa.plugins.replay.run_compiler import compile_run
from hisa.plugins.replay.skill_export import export_program
from hisa.runs.run_reader import load_run
from hisa.screen.observation import Screenshot
from hisa.screen.ocr import available, read_text
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


def build_recording_settings(folder: Path) -> dict[str, Any]:
    """Settings by which a run waits for a person to take its machine over."""
    return {
        "run": {"folder": folder, "confirm": "never"},
        "patterns": {"enabled": False},
        "models": {"planner": {"model": "person"}, "state": {"model": "offline"}},
    }


async def record_person(folder: Path, form: FakeEnvironment, acts: Acts) -> hisa.RunResult:
    """The run of a person who takes the machine over, acts, and gives it back."""
    settings = hisa.Settings.model_validate(build_recording_settings(folder))
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


async def test_demonstration_becomes_a_program(tmp_path: Path) -> None:
    result = await record_person(tmp_path / "runs", FakeEnvironment(), ENTER)
    assert result.status == "succeeded"
    run = load_run(result.folder)
    assert [atom.source for atom in read_demonstration(run)] == [
        "pyautogui.click(300, 136)",
        "pyautogui.write('Ada')",
        "pyautogui.press('enter')",
        "pyautogui.click(260, 236)",
    ]
    program = compile_run(run, "name")
    assert [target.role for step in program.steps for target in step.targets] == [
        "text",
        "push button",
    ]


async def test_recording_may_be_taken_over_before_it_starts(tmp_path: Path) -> None:
    result = await record_person(tmp_path / "runs", Starting(), ENTER)
    assert result.status == "succeeded"
    assert len(read_demonstration(load_run(result.folder))) == 4


async def test_a_run_that_waits_for_a_person_is_stopped_at_once(tmp_path: Path) -> None:
    settings = hisa.Settings.model_validate(build_recording_settings(tmp_path))
    work = asyncio.create_task(
        hisa.run("Enter a name.", settings=settings, environment=FakeEnvironment())
    )
    await until(lambda: bool(runs_in(tmp_path)))
    client = await Client.at(runs_in(tmp_path)[0])
    await client.step(1)
    assert (await client.ask("stop"))["ok"]
    result = await work
    await client.close()
    assert result.status == "stopped"
    assert not [event for event in load_run(result.folder).events if event.type == "planned"]


@pytest.mark.skipif(not available(), reason="nothing here reads pictures")
async def test_a_password_that_is_shown_is_in_no_byte(tmp_path: Path) -> None:
    acts: Acts = [
        [{"kind": "click", **FIELD}],
        [{"kind": "type", "text": PASSWORD}],
        [{"kind": "click", **OK}],  # the form says then what was typed
    ]
    form = Login()
    result = await record_person(tmp_path / "runs", form, acts)
    assert form.text == PASSWORD
    run = load_run(result.folder)
    place = tmp_path / "programs" / "login"
    program = compile_run(run, "login")
    write_program(program, place)
    assert [step.action for step in program.steps][1] == "pyautogui.write('{{secret:typed_1}}')"
    skill = export_program(program, place, tmp_path / "skills")
    write_video(run, lambda line: None, tmp_path / "run.gif")
    assert not any(
        form.encode() in data for data in bytes_below(tmp_path) for form in forms(PASSWORD)
    )
    assert any("{{secret:typed_1}}" in text for text in texts_below(skill))
    words = list(words_in(tmp_path))
    assert any(word.startswith("Name") for word in words), "screens are read"
    assert any("HiSA run" in line for line in words), "the video is read"
    assert not [line for line in words if PASSWORD[:9] in line]


def texts_below(folder: Path) -> list[str]:
    return [data.decode("utf-8", "replace") for data in bytes_below(folder)]


def words_in(folder: Path) -> Iterator[str]:
    """The lines that can be read in pictures and in each frame of videos."""
    for path in [*folder.rglob("*.png"), *folder.rglob("*.gif")]:
        with Image.open(path) as file:
            for frame in ImageSequence.Iterator(file):
                data = io.BytesIO()
                frame.convert("RGB").save(data, "PNG")
                picture = Screenshot.from_png(data.getvalue())
                yield from (line.text for line in read_text(picture, least=0.0))


async def test_a_run_in_which_nothing_was_shown_is_refused(tmp_path: Path) -> None:
    result = await record_person(tmp_path / "runs", FakeEnvironment(), [])
    with pytest.raises(UsageError, match="nothing was done"):
        compile_run(load_run(result.folder), "none")
