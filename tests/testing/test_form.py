from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import PurePosixPath

import pytest

from hisa.actions import Click, Hotkey, Press, Write
from hisa.errors import EnvironmentFailed
from hisa.protocols import CommandResult, Environment
from hisa.testing.form import FakeEnvironment
from tests.environments.conformance import UNICODE, Conformance, find_only


@pytest.fixture
async def environment() -> AsyncIterator[Environment]:
    async with FakeEnvironment() as fake:
        yield fake


@pytest.fixture
def folder() -> PurePosixPath:
    return PurePosixPath("/home/user/work")


class TestFake(Conformance):
    documented = "a form in memory"


async def test_form_is_filled_and_saved() -> None:
    async with FakeEnvironment() as fake:
        before = await fake.observe(elements=True)
        await fake.act([Click(find_only(before, "text", label="Name:").box.centre), Write(UNICODE)])
        await fake.act([Press("backspace"), Hotkey(("ctrl", "s"))])
        after = await fake.observe(elements=True)
        assert find_only(after, "text", label="Name:").text == UNICODE[:-1] == fake.text
        assert await fake.read_file("/home/user/form.txt") == UNICODE[:-1].encode()
        assert before.screenshot.sha256 != after.screenshot.sha256


async def test_check_box_toggles() -> None:
    async with FakeEnvironment() as fake:
        box = find_only(await fake.observe(elements=True), "check box", name="Agree").box
        await fake.act([Click(box.centre)])
        assert "checked" in find_only(await fake.observe(elements=True), "check box").states


async def test_commands_answer_as_scripted() -> None:
    async with FakeEnvironment(commands={"ls": CommandResult(0, "a\nb\n")}) as fake:
        assert (await fake.execute("ls", limit=1)).output == "a"
        assert (await fake.execute(["rm", "-r", "x"])).exit_code == 127


async def test_machine_breaks_after_its_set_count() -> None:
    async with FakeEnvironment(fail_after=2) as fake:
        await fake.observe()
        await fake.act([])
        with pytest.raises(EnvironmentFailed, match="gone"):
            await fake.observe()
