"""A display that exists already: here a bare one that the test starts."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from hisa.environments.display import DisplayEnvironment
from hisa.errors import EnvironmentFailed, UsageError
from tests.environments.conformance import CommandConformance, Conformance

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    number, number_in = os.pipe()
    line = ["Xvfb", "-displayfd", str(number_in), "-screen", "0", "1280x720x24"]
    server = subprocess.Popen([*line, "-nolisten", "tcp"], pass_fds=(number_in,))
    os.close(number_in)
    with os.fdopen(number, encoding="ascii") as stream:
        name = f":{stream.readline().strip()}"
    yield name
    server.terminate()
    server.wait()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("display")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def environment(display: str, folder: Path) -> AsyncIterator[DisplayEnvironment]:
    async with DisplayEnvironment(display, folder=folder) as environment:
        yield environment


class TestDisplay(Conformance, CommandConformance):
    documented = "an existing display"

    async def test_is_not_thrown_away(self, environment: DisplayEnvironment) -> None:
        assert "throw_away" not in environment.capabilities

    async def test_commands_write_in_the_folder_alone(
        self, environment: DisplayEnvironment, folder: Path
    ) -> None:
        if not environment.caged:
            assert shutil.which("bwrap") is None
            return
        done = await environment.execute("echo in > inside; pwd; touch /usr/local/hisa-was-here")
        assert done.exit_code != 0
        assert done.output == f"{folder}\n"
        assert (folder / "inside").read_text() == "in\n"


async def test_missing_display_is_a_broken_machine() -> None:
    with pytest.raises(EnvironmentFailed):
        await DisplayEnvironment(":9876").__aenter__()


async def test_name_of_a_display_is_checked() -> None:
    with pytest.raises(UsageError, match="local display"):
        DisplayEnvironment("host:0; rm")
